import { once } from "node:events";
import { globSync } from "node:fs";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test as base, vi } from "vitest";
import type { RuntimeKind } from "../../standalone/agent.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { layOutBundle, startEdgerun } from "../support/edgerun.ts";
import { freePort } from "../support/free-port.ts";
import { Launch, type LaunchSettings } from "../support/launch.ts";
import { containersOf, familyOf, isAlive, isPortFree, processesIn } from "../support/leftovers.ts";

const hasDocker = await isDockerAvailable();
const RUNTIMES: readonly RuntimeKind[] = hasDocker ? ["process", "docker"] : ["process"];
const EXAMPLE_RESULT = /Example job completed in \d+ ms: \{"greeting":"Hello, Edgerun!"\}/;

type Place = { readonly port: number; readonly stateDirectory: string };
type Launcher = (settings: Partial<LaunchSettings> & Place) => Launch;

const test = base.extend<{ place: Place; launch: Launcher }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the fixture's needs from the pattern
  place: async ({}, use) => {
    const stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-start-"));
    await use({ port: await freePort(), stateDirectory });
    await rm(stateDirectory, { recursive: true, force: true });
  },
  // oxlint-disable-next-line no-empty-pattern -- as above
  launch: async ({}, use) => {
    const launches: Launch[] = [];
    await use((settings) => {
      const launch = new Launch({ via: "npm", options: ["--runtime", "process"], ...settings });
      launches.push(launch);
      return launch;
    });
    await Promise.all(launches.map((launch) => launch.stop()));
  },
});

async function callQueue(url: string, key: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${url}/v2/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return await response.json();
}

async function keyOf({ stateDirectory }: Place): Promise<string> {
  return (await readFile(join(stateDirectory, "api-key"), "utf8")).trim();
}

/** Works on D1's file, which the edge may have open as well. */
function inDatabase<Result>({ stateDirectory }: Place, work: (database: DatabaseSync) => Result): Result {
  const [path = ""] = globSync(join(stateDirectory, "edge/d1/*/*.sqlite")).filter(
    (file) => basename(file) !== "metadata.sqlite",
  );
  const database = new DatabaseSync(path);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

describe("npm start", () => {
  test("says when it is ready, runs a job, and tells how to go on; on the same state it finds key, endpoint and jobs again", async ({
    place,
    launch,
    expect,
  }) => {
    const first = launch(place);
    await first.settled();
    const key = await keyOf(place);
    expect(first.output).toMatch(new RegExp(`^ready http://127.0.0.1:${place.port}$`, "m"));
    expect(first.output).toMatch(EXAMPLE_RESULT);
    expect(first.output).toContain(key);
    expect(first.output.match(/^ {2}curl .*/gm)).toHaveLength(3);
    expect((await stat(join(place.stateDirectory, "api-key"))).mode & 0o777).toBe(0o600);

    const { url, endpointId } = first.record;
    const sent = (await callQueue(url, key, `${endpointId}/run`, { input: { name: "again" } })) as {
      id: string;
    };
    await first.stop();

    const second = launch(place);
    await second.settled();
    expect(first.output).toContain("Building the edge");
    expect(second.output).not.toContain("Building the edge");
    expect(await keyOf(place)).toBe(key);
    expect(second.record.endpointId).toBe(endpointId);
    await vi.waitFor(
      async () =>
        expect(await callQueue(url, key, `${endpointId}/status/${sent.id}`)).toMatchObject({
          status: "COMPLETED",
          output: { greeting: "Hello, again!" },
        }),
      { timeout: 30_000, interval: 200 },
    );
  });

  test("does the maintenance of the edge, for which Cloudflare has a clock", async ({
    place,
    launch,
    expect,
  }) => {
    await layOutBundle(place.stateDirectory);
    const settings = { ...place, via: "script", options: ["--no-agent"] } as const;
    const first = launch(settings);
    await first.settled();
    await callQueue(first.record.url, await keyOf(place), "none/health"); // makes the account
    await first.stop();
    inDatabase(place, (database) =>
      database.exec("INSERT INTO join_token VALUES ('expired', 'default', NULL, 1, 2, NULL)"),
    );

    await launch(settings).settled();
    const countTokens = (database: DatabaseSync) =>
      database.prepare("SELECT count(*) AS count FROM join_token").get();
    await vi.waitFor(() => expect(inDatabase(place, countTokens)).toEqual({ count: 0 }), 30_000);
  });

  test("names a free port when its own is taken", async ({ place, launch, expect }) => {
    const other = createServer().listen(place.port, "127.0.0.1");
    await once(other, "listening");
    const edgerun = launch({ ...place, via: "script" });
    expect(await edgerun.ended).toBe(1);
    expect(edgerun.output).toContain(`Port ${place.port} is taken`);
    const proposed = /npm start -- --port (\d+)/.exec(edgerun.output)?.[1];
    expect(await isPortFree(Number(proposed))).toBe(true);
    other.close();
  });

  test("refuses a port that clients could not call, and names another", async ({ place, launch, expect }) => {
    const edgerun = launch({ ...place, port: 6000, via: "script" });
    expect(await edgerun.ended).toBe(1);
    expect(edgerun.output).toMatch(/'6000' is invalid\..* refuse to call port 6000, .* such as 6001\./);
  });

  test("refuses a state directory that is in use", async ({ place, launch, expect }) => {
    await layOutBundle(place.stateDirectory);
    await launch({ ...place, options: ["--no-agent"] }).settled();
    const second = launch({ ...place, port: await freePort() });
    expect(await second.ended).not.toBe(0);
    expect(second.output).toContain(
      `already runs on this state directory, at http://127.0.0.1:${place.port}`,
    );
  });

  test("takes the key that it is given", async ({ place, launch, expect }) => {
    await layOutBundle(place.stateDirectory);
    const edgerun = launch({ ...place, options: ["--no-agent", "--api-key", "er_given"] });
    await edgerun.settled();
    const myself = async (key: string): Promise<number> =>
      (
        await fetch(`${edgerun.record.url}/graphql?api_key=${key}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ query: "query { myself { id } }" }),
        })
      ).status;
    expect(await myself("er_given")).toBe(200);
    expect(await myself("er_other")).toBe(401);
  });
});

describe("npm start -- --once", () => {
  for (const runtime of RUNTIMES) {
    test(`ends with 0 after the example job, with the ${runtime} runtime`, async ({
      place,
      launch,
      expect,
    }) => {
      await layOutBundle(place.stateDirectory);
      const edgerun = launch({ ...place, options: ["--once", "--runtime", runtime] });
      expect(await edgerun.ended).toBe(0);
      expect(edgerun.output).toMatch(EXAMPLE_RESULT);
      expect(await containersLeft(edgerun)).toEqual([]);
      expect(await isPortFree(place.port)).toBe(true);
    });
  }

  test("does not end with 0 when the example can not run", async ({ place, launch, expect }) => {
    const edgerun = launch({
      ...place,
      options: ["--once", "--runtime", "docker"],
      env: { DOCKER_HOST: "unix:///nowhere/docker.sock" },
    });
    expect(await edgerun.ended).not.toBe(0);
    expect(edgerun.output).toContain("No Docker daemon answers");
  });

  test("does not go with --no-example", async ({ place, launch, expect }) => {
    const edgerun = launch({ ...place, via: "script", options: ["--once", "--no-example"] });
    expect(await edgerun.ended).toBe(1);
  });
});

async function containersLeft(launch: Launch): Promise<readonly string[]> {
  const { endpointId } = launch.record;
  return hasDocker && endpointId !== null ? await containersOf(endpointId) : [];
}

const WAYS_TO_END: Record<string, (launch: Launch) => void> = {
  "Ctrl+C": (launch) => launch.pressControlC(),
  "SIGINT to npm": (launch) => launch.signal("SIGINT"),
  "SIGTERM to npm": (launch) => launch.signal("SIGTERM"),
  "kill -9 of npm": (launch) => launch.signal("SIGKILL"),
  "kill -9 of the script": (launch) => process.kill(launch.record.script.pid, "SIGKILL"),
};

describe("nothing is left", () => {
  for (const runtime of RUNTIMES) {
    for (const [way, end] of Object.entries(WAYS_TO_END)) {
      test(`after ${way}, with the ${runtime} runtime`, async ({ place, launch, expect }) => {
        await layOutBundle(place.stateDirectory);
        const edgerun = launch({ ...place, options: ["--runtime", runtime] });
        await edgerun.settled();
        const processes = [...familyOf(edgerun.pid), ...processesIn(place.stateDirectory)];
        const containers = await containersLeft(edgerun);
        expect(processes.length).toBeGreaterThan(4);
        expect(containers).toHaveLength(runtime === "docker" ? 1 : 0);
        const { url, endpointId } = edgerun.record;
        const waiting = callQueue(url, await keyOf(place), `${endpointId}/runsync`, {
          input: { seconds: 60 },
        });
        waiting.catch(() => {}); // a job runs and a client waits for it when the end comes

        end(edgerun);
        await vi.waitFor(
          async () => {
            expect(processes.filter(isAlive)).toEqual([]);
            expect(processesIn(place.stateDirectory)).toEqual([]);
            expect(await isPortFree(place.port)).toBe(true);
            expect(await containersLeft(edgerun)).toEqual([]);
          },
          { timeout: 15_000, interval: 100 },
        );
      });
    }
  }
});

describe("a part that dies by itself", () => {
  test("is started again, on the same port and state, with a line that says so", async ({ expect }) => {
    await using edgerun = await startEdgerun({ runtime: "process" });
    const before = edgerun.pids();

    process.kill(before.edge, "SIGKILL");
    await edgerun.printed(/^edge: ended by itself \(killed by SIGKILL\)/m);
    await edgerun.printed(/^edge: running again/m);
    process.kill(before.agent, "SIGKILL");
    await edgerun.printed(/^agent: ended by itself \(killed by SIGKILL\)/m);
    await edgerun.printed(/^agent: running again/m);

    const { baseUrl, apiKey, endpointId } = edgerun;
    const job = await callQueue(baseUrl, apiKey, `${endpointId}/runsync`, { input: { name: "anew" } });
    expect(job).toMatchObject({ status: "COMPLETED", output: { greeting: "Hello, anew!" } });
    expect(edgerun.pids().edge).not.toBe(before.edge);
    expect(edgerun.pids().agent).not.toBe(before.agent);
  });
});
