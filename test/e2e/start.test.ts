/** `npm start` as a person uses it: what it says and keeps, and that nothing is left of it, however it ends. */
import { globSync } from "node:fs";
import { chmod, mkdtemp, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { execa } from "execa";
import { afterAll, afterEach, beforeAll, beforeEach, describe, type ExpectStatic, test, vi } from "vitest";
import { managementApi } from "../../standalone/management-api.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { layOutBundle } from "../support/edgerun.ts";
import { freePort } from "../support/free-port.ts";
import { Launch, type LaunchSettings } from "../support/launch.ts";
import { containersOf, familyOf, isAlive, isPortFree, processesIn } from "../support/leftovers.ts";
import { blocksOfTest, readDocument, readDocuments } from "../support/markdown.ts";
import { QueueClient } from "../support/queue-client.ts";

const EXAMPLE_RESULT = /Example job completed in \d+ ms: \{"greeting":"Hello, Edgerun!"\}/;
const GIVEN_KEY = "er_given_by_the_user_who_starts_it";
/** An agent gets 20 s to remove its workers. */
const GONE_WITHIN_MS = 60_000;

const hasDocker = await isDockerAvailable();

const WAYS_TO_END = {
  "Ctrl+C": (launch: Launch) => launch.pressControlC(),
  "SIGINT to npm": (launch: Launch) => launch.signal("SIGINT"),
  "SIGTERM to npm": (launch: Launch) => launch.signal("SIGTERM"),
  "kill -9 of npm": (launch: Launch) => launch.signal("SIGKILL"),
  "kill -9 of the script": (launch: Launch) => process.kill(launch.record.script.pid, "SIGKILL"),
};
type Way = keyof typeof WAYS_TO_END;

/** A state directory and a port, on which one start follows another. */
class Place implements AsyncDisposable {
  readonly port: number;
  readonly stateDirectory: string;
  readonly #launches: Launch[] = [];

  private constructor(port: number, stateDirectory: string) {
    this.port = port;
    this.stateDirectory = stateDirectory;
  }

  static async open(): Promise<Place> {
    return new Place(await freePort(), await mkdtemp(join(tmpdir(), "edgerun-start-")));
  }

  launch(settings: Partial<LaunchSettings>): Launch {
    const { port, stateDirectory } = this;
    const launch = new Launch({ via: "npm", port, stateDirectory, ...settings });
    this.#launches.push(launch);
    return launch;
  }

  async key(): Promise<string> {
    return (await readFile(join(this.stateDirectory, "api-key"), "utf8")).trim();
  }

  /** Works on D1's file, which the edge may have open as well. */
  inDatabase<Result>(work: (database: DatabaseSync) => Result): Result {
    const [path = ""] = globSync(join(this.stateDirectory, "edge/d1/*/*.sqlite")).filter(
      (file) => basename(file) !== "metadata.sqlite",
    );
    using database = new DatabaseSync(path);
    return work(database);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#launches.map((launch) => launch.stop()));
    await rm(this.stateDirectory, { recursive: true, force: true });
  }
}

function clientOf({ record: { url, endpointId } }: Launch, apiKey: string): QueueClient {
  return new QueueClient({ baseUrl: url, apiKey, endpointId: endpointId ?? "" });
}

async function containersLeft({ record: { endpointId } }: Launch): Promise<readonly string[]> {
  return hasDocker && endpointId !== null ? await containersOf(endpointId) : [];
}

/** Ends it in the middle of a job. */
async function expectNothingLeft(
  launch: Launch,
  { place, way, apiKey, expect }: { place: Place; way: Way; apiKey: string; expect: ExpectStatic },
): Promise<void> {
  const client = clientOf(launch, apiKey);
  await client.untilRunning((await client.run({ seconds: 60 })).id);
  const processes = [...familyOf(launch.pid), ...processesIn(place.stateDirectory)];
  expect(processes.length).toBeGreaterThan(4);

  WAYS_TO_END[way](launch);
  await vi.waitFor(
    async () => {
      expect(processes.filter(isAlive)).toEqual([]);
      expect(processesIn(place.stateDirectory)).toEqual([]);
      expect(await isPortFree(place.port)).toBe(true);
      expect(await containersLeft(launch)).toEqual([]);
    },
    { timeout: GONE_WITHIN_MS, interval: 100 },
  );
}

function readmeTranscript(): string {
  return (
    readDocument("README.md").blocks.find(({ text }) => text.startsWith("ready http"))?.text ??
    "no transcript"
  );
}

/** The output without what differs from start to start. */
function shapeOf(output: string): string {
  return output
    .replaceAll(/^ {2}still waiting: .*\n/gm, "")
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "URL")
    .replaceAll(/er_[0-9a-f]{40}/g, "KEY")
    .replaceAll(/erk_([0-9a-f]{40,}|[0-9a-f]+\.\.\.)/g, "CODE")
    .replaceAll(/\b[0-9a-z]{14}\b/g, "ID")
    .replaceAll(/\d+ ms/g, "N ms")
    .replaceAll(/^( {2}Data and logs {4}).*/gm, "$1DIRECTORY");
}

/** Puts the state directory into an archive and one that is restored from it into its place, as the guide says. */
async function backUpAndRestore(stateDirectory: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "edgerun-backup-"));
  await symlink(stateDirectory, join(folder, ".edgerun"));
  const blocks = readDocuments().flatMap((document) => blocksOfTest(document, "backup"));
  // The test itself starts it again, on a port of its own.
  const script = ["set -eu", "npm() { [ $1 = start ]; }", ...blocks.map(({ text }) => text)].join("\n");
  await execa("bash", ["-c", script], { cwd: folder });
  await rm(stateDirectory, { recursive: true });
  await rename(join(folder, "restored"), stateDirectory);
  await rm(folder, { recursive: true });
}

describe("npm start, again and again on one state directory", () => {
  const options = ["--runtime", "process"];
  let place: Place;
  let first: Launch;
  let second: Launch;
  let jobId: string;
  beforeAll(async () => {
    place = await Place.open();
  });
  afterAll(() => place[Symbol.asyncDispose]());

  test("prints when it is ready, runs a job, and prints the next steps", async ({ expect }) => {
    await chmod(place.stateDirectory, 0o755); // as an earlier version left it
    first = place.launch({ options });
    await first.settled();
    expect(first.output).toContain("Building the edge");
    expect(first.output).toMatch(new RegExp(`^ready http://127.0.0.1:${place.port}$`, "m"));
    expect(first.output).toMatch(EXAMPLE_RESULT);
    expect(shapeOf(first.output)).toContain(shapeOf(readmeTranscript()));
    expect(first.output).toContain(await place.key());
    expect(first.output.match(/^ {2}curl .*/gm)).toHaveLength(3);
    const modes = ["", "agent", "api-key"].map(async (name) => {
      return (await stat(join(place.stateDirectory, name))).mode & 0o777;
    });
    expect(await Promise.all(modes)).toEqual([0o700, 0o700, 0o600]);
    jobId = (await clientOf(first, await place.key()).run({ name: "again" })).id;
  });

  test("refuses a state directory that is in use", async ({ expect }) => {
    const other = place.launch({ port: await freePort(), options });
    expect(await other.ended).not.toBe(0);
    expect(other.output).toContain(`http://127.0.0.1:${place.port}`);
  });

  test("names a free port when its own is taken", async ({ expect }) => {
    await using elsewhere = await Place.open();
    const other = elsewhere.launch({ via: "script", port: place.port, options });
    expect(await other.ended).toBe(1);
    expect(other.output).toContain(`${place.port}`);
    const proposed = /npm start -- --port (\d+)/.exec(other.output)?.[1];
    expect(await isPortFree(Number(proposed))).toBe(true);
  });

  test("refuses a port that clients could not call, and names another", async ({ expect }) => {
    const other = place.launch({ via: "script", port: 6000, options });
    expect(await other.ended).toBe(1);
    expect(other.output).toMatch(/'6000'.*\b6001\b/);
  });

  test("leaves nothing after SIGTERM to npm", async ({ expect }) => {
    await expectNothingLeft(first, { place, way: "SIGTERM to npm", apiKey: await place.key(), expect });
  });

  test("finds key, endpoint and jobs again in a restored backup, and tidies up as it does on Cloudflare by the clock", async ({
    expect,
  }) => {
    const key = await place.key();
    place.inDatabase((database) =>
      database.exec(
        "INSERT INTO join_token (hash, account_id, created_at, expires_at) VALUES ('expired', 'default', 1, 2)",
      ),
    );
    await backUpAndRestore(place.stateDirectory);
    second = place.launch({ options });
    await second.settled();
    expect(second.output).not.toContain("Building the edge");
    expect(await place.key()).toBe(key);
    expect(second.record.endpointId).toBe(first.record.endpointId);
    expect(await clientOf(second, key).result(jobId)).toMatchObject({
      status: "COMPLETED",
      output: { greeting: "Hello, again!" },
    });
    const isKept = (database: DatabaseSync) =>
      database.prepare("SELECT count(*) AS count FROM join_token WHERE hash = 'expired'").get();
    await vi.waitFor(() => expect(place.inDatabase(isKept)).toEqual({ count: 0 }), GONE_WITHIN_MS);
  });

  test("leaves nothing after Ctrl+C", async ({ expect }) => {
    await expectNothingLeft(second, { place, way: "Ctrl+C", apiKey: await place.key(), expect });
  });
});

test.for(["SIGINT to npm", "kill -9 of npm", "kill -9 of the script"] as const)(
  "npm start takes the key that it is given, and leaves nothing after %s",
  async (way, { expect }) => {
    await using place = await Place.open();
    await layOutBundle(place.stateDirectory);
    const launch = place.launch({ options: ["--runtime", "process", "--api-key", GIVEN_KEY] });
    await launch.settled();
    const other = managementApi(launch.record.url, "er_other");
    await expect(other.query("query { myself { id } }")).rejects.toThrow(/401|key/i);
    await expectNothingLeft(launch, { place, way, apiKey: GIVEN_KEY, expect });
  },
);

describe.runIf(hasDocker)("npm start with containers", () => {
  let place: Place;
  beforeEach(async () => {
    place = await Place.open();
    await layOutBundle(place.stateDirectory);
  });
  afterEach(() => place[Symbol.asyncDispose]());

  test("ends with 0 after the example job with --once", async ({ expect }) => {
    const edgerun = place.launch({ options: ["--once", "--runtime", "docker"] });
    expect(await edgerun.ended).toBe(0);
    expect(edgerun.output).toMatch(EXAMPLE_RESULT);
    expect(await containersLeft(edgerun)).toEqual([]);
    expect(await isPortFree(place.port)).toBe(true);
  });

  test.for(["SIGTERM to npm", "kill -9 of the script"] as const)(
    "leaves nothing after %s",
    async (way, { expect }) => {
      const edgerun = place.launch({ options: ["--runtime", "docker"] });
      await edgerun.settled();
      expect(await containersLeft(edgerun)).toHaveLength(1);
      await expectNothingLeft(edgerun, { place, way, apiKey: await place.key(), expect });
    },
  );
});

describe("npm start -- --once", () => {
  test("does not end with 0 when the example can not run", async ({ expect }) => {
    await using place = await Place.open();
    const edgerun = place.launch({
      options: ["--once", "--runtime", "docker"],
      env: { DOCKER_HOST: "unix:///nowhere/docker.sock" },
    });
    expect(await edgerun.ended).not.toBe(0);
    expect(edgerun.output).toContain("No Docker daemon answers");
  });

  test("does not go with --no-example", async ({ expect }) => {
    await using place = await Place.open();
    const edgerun = place.launch({ via: "script", options: ["--once", "--no-example"] });
    expect(await edgerun.ended).toBe(1);
  });
});
