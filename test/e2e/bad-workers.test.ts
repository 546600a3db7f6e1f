/** Handlers and programs that misbehave: each is seen for what it is, and none blocks the jobs behind it. */
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";
import { until } from "../support/until.ts";

const WORKER = `node ${resolve(import.meta.dirname, "../support/worker-script.mjs")}`;
/** Workers that fail keep their GPUs for a while: theirs are others than those of the workers that do not. */
const OTHER_GPUS = { gpuIds: "AMPERE_16" };

async function clientOf(account: AccountHost, settings: Omit<Parameters<typeof createEndpoint>[1], "name">) {
  const name = `bad-${crypto.randomUUID()}`;
  return new QueueClient({ ...account, endpointId: await createEndpoint(account, { name, ...settings }) });
}

/** Looks at a queued job until it says that it waits for this reason. */
async function reasonOf(client: QueueClient, jobId: string, reason: string): Promise<string> {
  const look = async () => {
    const { queue } = await client.status(jobId);
    if (queue?.reason !== reason) throw new Error(JSON.stringify(queue));
    return queue.detail;
  };
  return until(look, `a wait because of ${reason}`, 120_000);
}

describe("in the process runtime", () => {
  let account: AccountHost;
  let client: QueueClient;
  beforeAll(async () => {
    account = await startAccountHost("bad workers", "process");
    client = await clientOf(account, { dockerArgs: WORKER, executionTimeoutMs: 5_000 });
  });
  afterAll(() => account.stop());

  test.for([
    ["a handler that raises", { mock_error: "no such model" }, { status: "FAILED", error: "no such model" }],
    ["a handler whose process exits", { mock_crash: 3 }, { status: "FAILED", error: "lost 2 times" }],
    [
      "a result that JSON cannot hold",
      { mock_unserialisable: 1 },
      { status: "FAILED", error: "lost 2 times" },
    ],
    [
      "a handler that never returns",
      { mock_never: 1 },
      { status: "TIMED_OUT", error: "executionTimeout exceeded" },
    ],
    [
      "a handler that cannot be stopped",
      { mock_block: 1 },
      { status: "TIMED_OUT", error: "executionTimeout exceeded" },
    ],
    ["a result of 25 MB", { mock_size: 25_000_000 }, { status: "FAILED", error: "20000000" }],
  ] as const)(
    "%s ends as it should, and the job behind it completes",
    async ([, input, outcome], { expect }) => {
      const bad = await client.run(input);
      const behind = await client.run({ mock_return: "fine" });
      const result = await client.result(bad.id);
      expect(result.status).toBe(outcome.status);
      expect(result.error).toContain(outcome.error);
      expect(await client.result(behind.id)).toMatchObject({ status: "COMPLETED", output: "fine" });
    },
  );

  test("a cancelled handler stops, and the job behind it completes", async ({ expect }) => {
    const bad = await client.run({ mock_never: 1 });
    const behind = await client.run({ mock_return: "fine" });
    await client.untilRunning(bad.id);
    expect(await client.cancel(bad.id)).toEqual({ id: bad.id, status: "CANCELLED" });
    expect(await client.result(behind.id)).toMatchObject({ status: "COMPLETED" });
  });

  test("a worker that exits at start is seen in status and in health", async ({ expect }) => {
    const broken = await clientOf(account, {
      dockerArgs: WORKER,
      env: { MOCK_EXIT_AT_START: "7", MOCK_STDERR_LINE: "no GPU memory" },
      ...OTHER_GPUS,
    });
    const { id } = await broken.run({});
    const detail = await reasonOf(broken, id, "worker_crash_looping");
    expect(detail).toMatch(/\b7\b/);
    expect((await broken.health()).workers).toMatchObject({ unhealthy: 1, ready: 0 });
  });

  test("a command that does not exist is seen in status", async ({ expect }) => {
    const broken = await clientOf(account, { dockerArgs: "no-such-command --at-all", ...OTHER_GPUS });
    const { id } = await broken.run({});
    expect(await reasonOf(broken, id, "worker_crash_looping")).toMatch(/no-such-command/);
  });
});
