/** As a new user: from an empty folder to functions that answer, new code under load, and nothing left behind. */
import { readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import Docker from "dockerode";
import { afterAll, beforeAll, describe, type ExpectStatic, test } from "vitest";
import { ensureFlashImages } from "../../scripts/images/flash-images.ts";
import { Desk, layOutBundle } from "../cli/support/flash-command.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { type BareEdgerun, startBareEdgerun } from "../support/edgerun.ts";
import { type JobReply, QueueClient } from "../support/queue-client.ts";
import { SteadyLoad } from "../support/steady-load.ts";
import { inTurn } from "../support/turn.ts";

type Deployed = {
  readonly endpoints: readonly {
    readonly name: string;
    readonly id: string;
    readonly url: string;
    readonly action: string;
    readonly changes: readonly string[];
  }[];
};

/** The image has Debian's Python. */
const PYTHON_VERSION = "3.11";
const PACKAGE = join(import.meta.dirname, "../../sdk/python/src");
const CALL_LIMIT_MS = 90_000;

const SCRIPT = `
import asyncio, json
from cpu_worker import cpu_hello
from gpu_worker import gpu_hello

async def main():
    answers = await asyncio.gather(cpu_hello({"name": "Ångström"}), gpu_hello({"name": "b"}))
    print(json.dumps([answer["message"] for answer in answers]))

asyncio.run(main())
`;

describe.runIf(await isDockerAvailable())("a new user of flash", () => {
  let bundle: string;
  let edgerun: BareEdgerun;
  let desk: Desk;

  beforeAll(async () => {
    [bundle, edgerun] = await Promise.all([
      layOutBundle(),
      startBareEdgerun({ runtime: "docker" }),
      inTurn("flash-images", () => ensureFlashImages(() => undefined)),
    ]);
    desk = await Desk.open(bundle, {
      EDGERUN_URL: edgerun.baseUrl,
      SVC_API_KEY: edgerun.apiKey,
      PYTHONPATH: PACKAGE,
    });
  });
  afterAll(async () => {
    await desk?.[Symbol.asyncDispose]();
    await edgerun?.stop();
    if (bundle) await rm(dirname(bundle), { recursive: true, force: true });
  });

  async function run(command: string): Promise<string> {
    const { stdout, stderr, exitCode } = await desk.run(command);
    if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}:\n${stdout}\n${stderr}`);
    return stdout;
  }

  const deploy = async (): Promise<Deployed> =>
    JSON.parse(
      await run(`flash deploy --env production --python-version ${PYTHON_VERSION} --json`),
    ) as Deployed;

  const endpointNamed = (deployed: Deployed, name: string) => {
    const found = deployed.endpoints.find((endpoint) => endpoint.name === name);
    if (!found) throw new Error(`${name} was not deployed.`);
    return found;
  };

  const clientOf = (deployed: Deployed, name: string): QueueClient =>
    new QueueClient({ ...edgerun, endpointId: endpointNamed(deployed, name).id });

  async function hello(client: QueueClient): Promise<JobReply> {
    const reply = await client.runsync({ input_data: { name: "x" } });
    return reply.status.startsWith("IN_") ? await client.result(reply.id) : reply;
  }

  test(
    "init, deploy, and each call that is printed answers as it was pasted (traps 18 and 28)",
    { timeout: 2 * CALL_LIMIT_MS },
    async ({ expect }) => {
      await run("flash init . --force");
      const shown = await run(`flash deploy --env production --python-version ${PYTHON_VERSION}`);
      const calls = shown.slice(shown.indexOf("curl -X")).split(/\n\n/);
      expect(calls).toHaveLength(3);
      const answers = await Promise.all(calls.map((call) => run(call.replace("curl", "curl -sS --fail"))));
      const [cpu, gpu, route] = answers.map((answer) => JSON.parse(answer) as Record<string, unknown>);
      expect(cpu).toMatchObject({ status: "COMPLETED", output: { message: expect.any(String) } });
      expect(gpu).toMatchObject({ status: "COMPLETED", output: { message: expect.any(String) } });
      expect(route).toMatchObject({ received: { message: "hello" } });
    },
  );

  test("the calls of its README answer as they stand there", async ({ expect }) => {
    const readme = await readFile(join(desk.project, "README.md"), "utf8");
    const calls = [...readme.matchAll(/```sh\n(curl .*?)```/gs)].map(([, call = ""]) => call);
    expect(calls).toHaveLength(3);
    const answers = await Promise.all(calls.map((call) => run(call.replace("curl", "curl -sS --fail"))));
    const [gpu, cpu, route] = answers.map((answer) => JSON.parse(answer) as Record<string, unknown>);
    expect(gpu).toMatchObject({ status: "COMPLETED", output: { message: "Hello, GPU!" } });
    expect(cpu).toMatchObject({ status: "COMPLETED", output: { message: "Hello, CPU!" } });
    expect(route).toMatchObject({ received: { name: "LB" } });
    expect(await run("python3 cpu_worker.py")).toContain("Hello, ");
  });

  test("a Python script in the folder imports the functions and awaits them", async ({ expect }) => {
    await desk.write("script.py", SCRIPT);
    expect(JSON.parse(await run("python3 script.py"))).toEqual(["Hello, Ångström!", "Hello, b!"]);
  });

  test("a deployed route has no door for code (trap 1), and wants a key", async ({ expect }) => {
    const { url } = endpointNamed(await deploy(), "lb_worker");
    const authorization = { Authorization: `Bearer ${edgerun.apiKey}` };
    const execute = await fetch(`${url}/execute`, { method: "POST", headers: authorization, body: "{}" });
    expect(execute.status).toBe(404);
    expect((await fetch(`${url}/health`)).status).toBe(401);
    expect((await fetch(`${url}/health`, { headers: authorization })).status).toBe(200);
  });

  test("deployed again as it is, nothing changes and the worker stays (trap 29)", async ({ expect }) => {
    const before = await deploy();
    const client = clientOf(before, "cpu_worker");
    const { workerId } = await hello(client);
    const again = await deploy();
    expect(again.endpoints.map(({ action }) => action)).toEqual(["unchanged", "unchanged", "unchanged"]);
    expect((await hello(client)).workerId).toBe(workerId);
  });

  test(
    "one changed line: the new code answers, no call fails, and no old answer follows the first new one",
    { timeout: 2 * CALL_LIMIT_MS },
    async ({ expect }) => {
      const before = await deploy();
      const { id } = endpointNamed(before, "cpu_worker");
      const old = await hello(clientOf(before, "cpu_worker"));
      await using load = new SteadyLoad({ ...edgerun, endpointId: id }, 2, () => ({ input_data: {} }));
      await load.untilOneSince(0);
      const path = join(desk.project, "cpu_worker.py");
      const source = await readFile(path, "utf8");
      await writeFile(path, source.replace("Hello, ", "Good day, "));
      const after = await deploy();
      expect(endpointNamed(after, "cpu_worker")).toMatchObject({ action: "updated", changes: ["code"] });

      const isNew = ({ output }: JobReply) => JSON.stringify(output).includes("Good day, ");
      await untilSome(load, isNew);
      await load.untilOneSince(performance.now());
      await load.stop();
      expectCutover(expect, load, isNew);
      expect(load.jobs.at(-1)?.reply.workerId).not.toBe(old.workerId);
    },
  );

  test("undeploy and delete leave nothing: no endpoint, no container", async ({ expect }) => {
    await run("flash undeploy --all --yes --force --env production");
    expect(JSON.parse(await run("flash undeploy list --env production --json"))).toMatchObject({
      endpoints: [],
    });
    await run("flash app delete demo --yes");
    await untilNoContainers();
  });

  async function untilNoContainers(): Promise<void> {
    const docker = new Docker();
    const hostId = JSON.parse(await readFile(join(edgerun.stateDirectory, "agent/host.json"), "utf8")) as {
      hostId: string;
    };
    const filters = { label: [`edgerun.host=${hostId.hostId}`] };
    while ((await docker.listContainers({ all: true, filters })).length > 0);
  }
});

async function untilSome(load: SteadyLoad, isWanted: (reply: JobReply) => boolean): Promise<void> {
  while (!load.jobs.some(({ reply }) => isWanted(reply))) await load.untilOneSince(performance.now());
}

function expectCutover(expect: ExpectStatic, load: SteadyLoad, isNew: (reply: JobReply) => boolean): void {
  expect(load.jobs.filter(({ reply }) => reply.status !== "COMPLETED")).toEqual([]);
  const firstNewAt = Math.min(...load.jobs.filter(({ reply }) => isNew(reply)).map(({ endedAt }) => endedAt));
  const later = load.jobs.filter(({ submittedAt }) => submittedAt > firstNewAt);
  expect(later.filter(({ reply }) => !isNew(reply))).toEqual([]);
  console.info(`${load.jobs.length} calls during the deployment, none failed`);
}
