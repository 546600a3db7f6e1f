/** As a new user: from an empty folder to functions that answer, new code under load, and nothing left behind. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Docker from "dockerode";
import { afterAll, beforeAll, describe, type ExpectStatic, test } from "vitest";
import { type ContainerFixture, openContainerFixture } from "../cli/support/container-fixture.ts";
import type { CommandFixture } from "../cli/support/flash-command.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import type { JobView } from "../../src/contract/job.ts";
import { QueueClient } from "../support/queue-client.ts";
import { SteadyLoad } from "../support/steady-load.ts";

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
  let opened: ContainerFixture<AccountHost>;
  let account: AccountHost;
  let fixture: CommandFixture;
  /** By the second deployment, which changes nothing. */
  let deployed: Deployed;
  let firstWorker: unknown;

  beforeAll(async () => {
    opened = await openContainerFixture(startAccountHost("flash", "docker"));
    ({ fixture, place: account } = opened);
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
  });

  async function run(command: string): Promise<string> {
    const { stdout, stderr, exitCode } = await fixture.run(command);
    if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}:\n${stdout}\n${stderr}`);
    return stdout;
  }

  const deploy = async (): Promise<Deployed> =>
    JSON.parse(
      await run(`flash deploy --env production --python-version ${PYTHON_VERSION} --json`),
    ) as Deployed;

  const endpointNamed = ({ endpoints }: Deployed, name: string) => {
    const found = endpoints.find((endpoint) => endpoint.name === name);
    if (!found) throw new Error(`${name} was not deployed.`);
    return found;
  };

  async function hello(name: string): Promise<JobView> {
    const client = new QueueClient({ ...account, endpointId: endpointNamed(deployed, "cpu_worker").id });
    const reply = await client.runsync({ input_data: { name } });
    return reply.status.startsWith("IN_") ? await client.result(reply.id) : reply;
  }

  test(
    "init, deploy, and each call that is printed answers as it was pasted",
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
      firstWorker = cpu?.["workerId"];
    },
  );

  test("deployed again as it is, nothing changes and the worker stays", async ({ expect }) => {
    deployed = await deploy();
    expect(deployed.endpoints.map(({ action }) => action)).toEqual(["unchanged", "unchanged", "unchanged"]);
    expect((await hello("x")).workerId).toBe(firstWorker);
  });

  test("ten calls at a time, with an empty word and others, get the answers that are theirs", async ({
    expect,
  }) => {
    const names = ["", "Ångström", "雪 ❄️", "\"\\n'", "a", "b", "c", "d", "e", "f"];
    const replies = await Promise.all(names.map(hello));
    expect(replies.map(({ output }) => (output as { message: string }).message)).toEqual(
      names.map((name) => `Hello, ${name}!`),
    );
  });

  test("the commands in the README of the skeleton answer, and each example calls itself", async ({
    expect,
  }) => {
    const readme = await readFile(join(fixture.project, "README.md"), "utf8");
    const blocks = [...readme.matchAll(/^```sh\n(curl .*?)^```/gms)].map(([, block = ""]) => block);
    const scripts = ["python3 gpu_worker.py", "python3 cpu_worker.py"];
    const commands = [...blocks.map((block) => block.replace("curl", "curl -sS --fail")), ...scripts];
    const [gpu, cpu, route, ...printed] = await Promise.all(commands.map(run));
    expect(JSON.parse(gpu ?? "")).toMatchObject({ output: { message: "Hello, GPU!" } });
    expect(JSON.parse(cpu ?? "")).toMatchObject({ output: { message: "Hello, CPU!" } });
    expect(JSON.parse(route ?? "")).toMatchObject({ received: { name: "LB" } });
    expect(printed).toEqual([expect.stringContaining("Hello, GPU!"), expect.stringContaining("Hello, CPU!")]);
  });

  test("a Python script in the folder imports the functions and awaits them", async ({ expect }) => {
    await fixture.write("script.py", SCRIPT);
    expect(JSON.parse(await run("python3 script.py"))).toEqual(["Hello, Ångström!", "Hello, b!"]);
  });

  test("a deployed route has no door for code, and wants a key", async ({ expect }) => {
    const { url } = endpointNamed(deployed, "lb_worker");
    const authorization = { Authorization: `Bearer ${account.apiKey}` };
    const execute = await fetch(`${url}/execute`, { method: "POST", headers: authorization, body: "{}" });
    expect(execute.status).toBe(404);
    expect((await fetch(`${url}/health`)).status).toBe(401);
    expect((await fetch(`${url}/health`, { headers: authorization })).status).toBe(200);
  });

  test(
    "one changed line: the new code answers, no call fails, and no old answer follows the first new one",
    { timeout: 2 * CALL_LIMIT_MS },
    async ({ expect }) => {
      const { id } = endpointNamed(deployed, "cpu_worker");
      await using load = new SteadyLoad({ ...account, endpointId: id }, 2, () => ({ input_data: {} }));
      await load.untilOneSince(0);
      const path = join(fixture.project, "cpu_worker.py");
      const source = await readFile(path, "utf8");
      await writeFile(path, source.replace("Hello, ", "Good day, "));
      const after = await deploy();
      expect(endpointNamed(after, "cpu_worker")).toMatchObject({ action: "updated", changes: ["code"] });

      const isNew = ({ output }: JobView) => JSON.stringify(output).includes("Good day, ");
      await untilSome(load, isNew);
      await load.untilOneSince(performance.now());
      await load.stop();
      expectCutover(expect, load, isNew);
      expect(load.jobs.at(-1)?.reply.workerId).not.toBe(firstWorker);
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
    const hostId = JSON.parse(await readFile(join(account.stateDirectory, "agent/host.json"), "utf8")) as {
      hostId: string;
    };
    const filters = { label: [`edgerun.host=${hostId.hostId}`] };
    const areThere = async () => (await docker.listContainers({ all: true, filters })).length > 0;
    const endings = await docker.getEvents({ filters: { ...filters, event: ["destroy"] } });
    const ended = endings[Symbol.asyncIterator]();
    while (await areThere()) await ended.next();
    await ended.return?.();
  }
});

async function untilSome(load: SteadyLoad, matches: (reply: JobView) => boolean): Promise<void> {
  while (!load.jobs.some(({ reply }) => matches(reply))) await load.untilOneSince(performance.now());
}

function expectCutover(expect: ExpectStatic, load: SteadyLoad, isNew: (reply: JobView) => boolean): void {
  expect(load.jobs.filter(({ reply }) => reply.status !== "COMPLETED")).toEqual([]);
  const firstNewAt = Math.min(...load.jobs.filter(({ reply }) => isNew(reply)).map(({ endedAt }) => endedAt));
  const later = load.jobs.filter(({ submittedAt }) => submittedAt > firstNewAt);
  expect(later.filter(({ reply }) => !isNew(reply))).toEqual([]);
  console.info(`${load.jobs.length} calls during the deployment, none failed`);
}
