/** The unmodified Python SDK in containers, through a whole Edgerun: what a client sees of each kind of handler. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, test } from "vitest";
import { isDockerAvailable } from "../support/docker.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { createEndpoint } from "../support/management-client.ts";
import { readEvents, type StreamEvent } from "../support/event-client.ts";
import type { JobView } from "../../src/contract/job.ts";
import { QueueClient } from "../support/queue-client.ts";
import { until } from "../support/until.ts";
import { ensureWorkerImage } from "../support/worker-image.ts";

type Counted = { readonly job_number: number };

let account: AccountHost;
let image = "";
let plain: MockEndpoint;

type MockSettings = Partial<Parameters<typeof createEndpoint>[1]>;

/** An endpoint of the mock worker with one container, which gives its GPU back soon. */
class MockEndpoint extends QueueClient {
  readonly #endpointId: string;

  private constructor(endpointId: string) {
    super({ ...account, endpointId });
    this.#endpointId = endpointId;
  }

  static async create(name: string, settings: MockSettings = {}): Promise<MockEndpoint> {
    const defaults = { name, imageName: image, workersMax: 1, idleTimeout: 3 };
    return new MockEndpoint(await createEndpoint(account, { ...defaults, ...settings }));
  }

  /** The job once its status is as wanted. */
  async seen(jobId: string, matches: (reply: JobView) => boolean): Promise<JobView> {
    const look = async () => {
      const reply = await this.status(jobId);
      if (!matches(reply)) throw new Error(JSON.stringify(reply));
      return reply;
    };
    return until(look, `a status of the job ${jobId}`, 120_000);
  }

  async container(): Promise<string> {
    const label = `label=edgerun.endpoint=${this.#endpointId}`;
    return (await execa("docker", ["ps", "--quiet", "--filter", label])).stdout;
  }

  async containerLog(): Promise<string> {
    return (await execa("docker", ["logs", await this.container()], { all: true })).all;
  }

  /** Resolves once what the container has printed since its start matches. */
  async printed(pattern: RegExp): Promise<void> {
    const following = execa("docker", ["logs", "--follow", await this.container()], {
      all: true,
      reject: false,
    });
    let text = "";
    following.all.on("data", (part: Buffer) => {
      text += part.toString();
      if (pattern.test(text)) following.kill();
    });
    await following;
    if (!pattern.test(text)) throw new Error(`The container ended without printing ${pattern}:\n${text}`);
  }

  async events(jobId: string): Promise<readonly StreamEvent[]> {
    const events: StreamEvent[] = [];
    for await (const event of readEvents({ ...account, endpointId: this.#endpointId }, jobId)) {
      events.push(event);
    }
    return events;
  }
}

const agentLog = (): Promise<string> => readFile(join(account.stateDirectory, "agent.log"), "utf8");

describe.runIf(await isDockerAvailable()).concurrent("a handler on the Python SDK", () => {
  beforeAll(async () => {
    image = await ensureWorkerImage("mock-worker");
    account = await startAccountHost("sdk workers", "docker");
    plain = await MockEndpoint.create("plain");
  });
  afterAll(() => account.stop());

  // The slow ones first: the others pass meanwhile.

  test("whose container gets a SIGTERM while it waits loses no job", async ({ expect }) => {
    const endpoint = await MockEndpoint.create("signalled", {
      idleTimeout: 60,
      env: { RUNPOD_LOG_LEVEL: "DEBUG" },
    });
    await endpoint.runsync({});
    await endpoint.printed(/Finished\..*rp_job . get_job:/s); // a take is pending
    await execa("docker", ["kill", "--signal", "SIGTERM", await endpoint.container()]);
    await endpoint.printed(/Received shutdown signal/);
    const { id } = await endpoint.run({ mock_return: "not lost" }); // the pending take swallows it
    expect(await endpoint.result(id)).toMatchObject({ status: "COMPLETED", output: "not lost" });
  });

  test("that ignores its cancel keeps its place; its neighbours finish, then the container is replaced", async ({
    expect,
  }) => {
    const endpoint = await MockEndpoint.create("deaf", { env: { CONCURRENCY_MODIFIER: "4" } });
    const deaf = await endpoint.run({ mock_progress: { updates: ["begun"] }, mock_deaf: 600 });
    const input = { mock_delay: 9, mock_return: "undisturbed" };
    const neighbours = await Promise.all([1, 2].map(() => endpoint.run(input)));
    await endpoint.seen(deaf.id, ({ output }) => output === "begun");
    expect(await endpoint.cancel(deaf.id)).toMatchObject({ status: "CANCELLED" });
    const container = await endpoint.container();
    const overstays = new RegExp(`"jobId":"${deaf.id}".*"job_overstays"`);
    await until(
      async () => overstays.test(await agentLog()),
      `${overstays} in the log of the agent`,
      120_000,
    );
    const next = await endpoint.run({ mock_count: true });

    for (const { id } of neighbours) {
      const { status, output, retries } = await endpoint.result(id);
      expect({ status, output, retries }).toEqual({
        status: "COMPLETED",
        output: "undisturbed",
        retries: undefined,
      });
    }
    expect(await endpoint.result(next.id)).toMatchObject({ output: { job_number: 1 } });
    expect(await endpoint.container()).not.toBe(container);
    expect(await endpoint.status(deaf.id)).toMatchObject({ status: "CANCELLED" });
  });

  test("returns, waits, and gets an empty input in each form that clients send", async ({ expect }) => {
    const hello = { status: "COMPLETED", output: "Hello World!" };
    expect(await plain.runsync({})).toMatchObject(hello);
    expect(await plain.runsync({ input: {} })).toMatchObject(hello); // as the Python client wraps it
    expect(await plain.runsync(null)).toMatchObject(hello);
    const output = { n: [1, "é"], deep: { empty: {} } };
    expect(await plain.runsync({ mock_return: output, mock_delay: 0.3 })).toMatchObject({ output });
    expect(await plain.runsync({ mock_return: {} })).not.toHaveProperty("output");
  });

  test("shows its progress while it runs; what comes late changes nothing", async ({ expect }) => {
    const progress = { updates: [{ percent: 10 }, { percent: 90 }], wait_time: 3, late: "late" };
    const { id } = await plain.run({ mock_progress: progress, mock_return: "result" });
    for (const output of progress.updates) {
      const seen = await plain.seen(id, (reply) => JSON.stringify(reply.output) === JSON.stringify(output));
      expect(seen.status).toBe("IN_PROGRESS");
    }
    const completed = { id, status: "COMPLETED", output: "result" };
    expect(await plain.result(id)).toMatchObject(completed);
    const dropped = async () => /"jobId":"(.*)","msg":"result_dropped"/.exec(await agentLog())?.[1] === id;
    await until(dropped, `result_dropped of the job ${id} in the log of the agent`, 120_000);
    expect(await plain.status(id)).toMatchObject(completed);
  });

  test("fails clearly, and none of its failures blocks the next job", async ({ expect }) => {
    const jobs = {
      raised: await plain.run({ mock_error: "told to" }),
      text: await plain.run({ mock_error_value: "no such model" }),
      object: await plain.run({ mock_error_value: { code: 7 } }),
      unserialisable: await plain.run({ mock_unserialisable: true }),
      large: await plain.run({ mock_megabytes: 24 }),
      next: await plain.run({ mock_megabytes: 3 }),
    };
    const errorOf = async ({ id }: JobView): Promise<string> => {
      const reply = await plain.result(id);
      expect(reply).toMatchObject({ status: "FAILED", error: expect.any(String) });
      expect(reply).not.toHaveProperty("output");
      return reply.error ?? "";
    };
    const raised: unknown = JSON.parse(await errorOf(jobs.raised));
    expect(raised).toMatchObject({ error_type: "<class 'RuntimeError'>", error_message: "told to" });
    expect(await errorOf(jobs.text)).toBe("no such model");
    expect(await errorOf(jobs.object)).toBe('{"code": 7}'); // as Python wrote it
    expect(await errorOf(jobs.unserialisable)).toMatch(/\b2\b.*\bJSON\b/);
    expect(await errorOf(jobs.large)).toMatch(/\b2516\d{4}\b.*\b20000000\b/);
    const next = await plain.result(jobs.next.id);
    expect((next.output as { filler: string }).filler).toHaveLength(3 * 1024 * 1024);
  });

  test("that is cancelled before the SDK has begun it stops as well, and costs no container", async ({
    expect,
  }) => {
    const jobNumber = async () => ((await plain.runsync({ mock_count: true })).output as Counted).job_number;
    const before = await jobNumber();
    const { id } = await plain.run({ mock_never: true });
    await plain.untilRunning(id);
    expect(await plain.cancel(id)).toEqual({ id, status: "CANCELLED" });
    expect(await jobNumber()).toBeGreaterThan(before);
  });

  test("that ends its process in mid-job is tried once more, and fails with the exit code", async ({
    expect,
  }) => {
    const endpoint = await MockEndpoint.create("crashes");
    const { id } = await endpoint.run({ mock_crash: true });
    const behind = await endpoint.run({ mock_count: true });
    const crashed = await endpoint.result(id);
    expect(crashed).toMatchObject({ status: "FAILED", retries: 1 });
    expect(crashed.error).toMatch(/\b2\b.*\b1\b/);
    const fresh = { status: "COMPLETED", output: { job_number: 1 } };
    expect(await endpoint.result(behind.id)).toMatchObject(fresh);
  });

  test("whose result never arrives is tried once more, and fails", async ({ expect }) => {
    const endpoint = await MockEndpoint.create("unheard");
    const { id } = await endpoint.run({ mock_external: { error_job_return: true } });
    const unheard = await endpoint.result(id);
    expect(unheard).toMatchObject({ status: "FAILED", retries: 1 });
    expect(unheard.error).toMatch(/lost 2 times.*without having posted this job's result/);
  });

  test("that returns refresh_worker gets a fresh container for the next job", async ({ expect }) => {
    const endpoint = await MockEndpoint.create("refreshes");
    expect(await endpoint.runsync({ mock_count: true })).toMatchObject({ output: { job_number: 1 } });
    const refreshing = await endpoint.run({ mock_refresh: true, mock_return: "last" });
    const next = await endpoint.run({ mock_count: true });
    expect(await endpoint.result(refreshing.id)).toMatchObject({
      status: "COMPLETED",
      output: { mock_return: "last" },
    });
    const { output, retries } = await endpoint.result(next.id);
    expect({ output, retries }).toEqual({ output: { job_number: 1 }, retries: undefined });
  });

  test("that yields has [] as its output, unless the stream is aggregated", async ({ expect }) => {
    const endpoint = await MockEndpoint.create("yields", { dockerArgs: "--generator" });
    const reply = await endpoint.runsync({ mock_return: ["a", { b: 1 }] });
    expect(reply).toMatchObject({ status: "COMPLETED", output: [] });
    expect(await endpoint.stream(reply.id)).toEqual({
      status: "COMPLETED",
      stream: [{ output: "a" }, { output: { b: 1 } }],
    });
    const failing = await endpoint.runsync({ mock_return: ["a"], mock_error: "after one" });
    expect(failing).toMatchObject({ status: "FAILED", error: expect.stringContaining("after one") });
    expect(await endpoint.stream(failing.id)).toEqual({ status: "FAILED", stream: [{ output: "a" }] });
  });

  test("whose chunks are aggregated has them as events first, and then as its output", async ({ expect }) => {
    const dockerArgs = "--async_generator --return_aggregate_stream";
    const endpoint = await MockEndpoint.create("aggregates", { dockerArgs });
    const chunks = ["a", { b: "é" }, 3];
    const { id } = await endpoint.run({ mock_return: chunks, mock_delay: 0.1 });
    const data = (await endpoint.events(id)).map((event) => event.data);
    expect(data).toMatchObject([
      ...chunks.map((output) => ({ output })),
      { id, status: "COMPLETED", output: chunks },
    ]);
  });

  test("runs four jobs at once; a cancel stops one of them and leaves its neighbours alone", async ({
    expect,
  }) => {
    const endpoint = await MockEndpoint.create("four", {
      env: { RUNPOD_LOG_LEVEL: "DEBUG", CONCURRENCY_MODIFIER: "4" },
    });
    const input = { mock_progress: { updates: ["begun"] }, mock_never: true };
    const jobs = await Promise.all([1, 2, 3, 4].map(() => endpoint.run(input)));
    const seen = await Promise.all(
      jobs.map(({ id }) => endpoint.seen(id, ({ output }) => output === "begun")),
    );
    expect(new Set(seen.map(({ workerId }) => workerId)).size).toBe(1);
    expect(await endpoint.containerLog()).toMatch(/job-take-batch.*batch_size=4.*Jobs in queue: 4/s);

    const [cancelled, ...neighbours] = jobs.map(({ id }) => id);
    await endpoint.cancel(cancelled ?? "");
    await endpoint.printed(new RegExp(`${cancelled} was stopped at`));
    expect(await endpoint.runsync({ mock_count: true })).toMatchObject({ output: { job_number: 5 } });
    for (const id of neighbours) expect(await endpoint.status(id)).toMatchObject({ status: "IN_PROGRESS" });
    expect(await endpoint.containerLog()).not.toMatch(`${neighbours[0]} was stopped`);
  });
});
