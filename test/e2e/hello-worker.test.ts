/** The hello example, as a plain process and in its container, against a scripted agent. */
import { fileURLToPath } from "node:url";
import { describe, test as base } from "vitest";
import { ensureHelloImage } from "../../scripts/images/node-image.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { ScriptedAgent } from "../support/scripted-agent.ts";
import { startContainer, startProcess, type StartedWorker } from "../support/started-worker.ts";

const workerFile = fileURLToPath(new URL("../../examples/hello/worker.mjs", import.meta.url));
const hasDocker = await isDockerAvailable();

const test = base.extend<{ agent: ScriptedAgent; worker: StartedWorker }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the fixture's needs from the pattern
  agent: async ({}, use) => {
    await using agent = await ScriptedAgent.listen();
    await use(agent);
  },
  worker: async ({ agent }, use) => {
    await using worker = startProcess(process.execPath, [workerFile], agent.workerEnv());
    await use(worker);
  },
});

describe("the hello worker as a plain process", () => {
  test("answers one job after the other", async ({ agent, worker: _, expect }) => {
    const first = agent.submit({ name: "Ada" });
    const second = agent.submit({});
    expect(await first.result).toEqual({ output: { greeting: "Hello, Ada!" } });
    expect(await second.result).toEqual({ output: { greeting: "Hello, world!" } });
  });

  test("reports progress while it works, and names the job in its pings", async ({
    agent,
    worker: _,
    expect,
  }) => {
    const job = agent.submit({ seconds: 2 });
    expect(await job.result).toEqual({ output: { greeting: "Hello, world!" } });
    expect(job.progress).toEqual(["1 of 2 seconds", "2 of 2 seconds"]);
    expect(agent.pings).toContain(job.id);
  });

  test("reports an error of the handler as JSON text", async ({ agent, worker: _, expect }) => {
    const { error } = await agent.submit({ fail: "no greetings today" }).result;
    expect(JSON.parse(String(error))).toEqual({
      error_type: "Error",
      error_message: "no greetings today",
    });
  });

  test("gives up a stopped job without a result and takes the next one", async ({
    agent,
    worker: _,
    expect,
  }) => {
    const stopped = agent.submit({ seconds: 60 });
    await stopped.underWay;
    agent.stop(stopped.id);
    const next = agent.submit({ name: "Grace" });
    const ended = await Promise.race([
      next.result.then(() => "the next job"),
      stopped.result.then(() => "the stopped job"),
    ]);
    expect(ended).toBe("the next job");
  });

  test("leaves at once on SIGTERM when it only waits", async ({ agent, worker, expect }) => {
    await agent.submit({}).result;
    expect(await worker.terminate()).toBe(0);
  });

  test("finishes the job in hand before it leaves on SIGTERM", async ({ agent, worker, expect }) => {
    const job = agent.submit({ name: "Ada", seconds: 1 });
    await job.taken;
    expect(await worker.terminate()).toBe(0);
    expect(await job.result).toEqual({ output: { greeting: "Hello, Ada!" } });
  });
});

describe("the hello worker without an agent", () => {
  base("names the variable that it misses", async ({ expect }) => {
    await using worker = startProcess(process.execPath, [workerFile], {});
    expect(await worker.ended()).toBe(1);
    expect(await worker.output()).toContain("RUNPOD_AI_API_KEY is not set");
  });
});

describe.runIf(hasDocker)("the hello worker in its container", () => {
  base("answers, and leaves on SIGTERM", async ({ expect }) => {
    const { image } = await ensureHelloImage();
    await using agent = await ScriptedAgent.listen();
    await using worker = await startContainer(image, agent.workerEnv());
    const job = agent.submit({ name: "container" });
    expect(await job.result).toEqual({ output: { greeting: "Hello, container!" } });
    expect(await worker.terminate()).toBe(0);
  });

  base("is built once", async ({ expect }) => {
    const { image } = await ensureHelloImage();
    const said: string[] = [];
    expect(await ensureHelloImage({ say: (line) => said.push(line) })).toEqual({ image });
    expect(said).toEqual([]);
  });
});
