/** Jobs on a whole Edgerun: what it tells of them, how soon a cancel reaches them, and what is counted. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { TimelineEvent } from "../../src/contract/job.ts";
import type { RequestMetrics } from "../../src/contract/metrics.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { parseExposition } from "../support/exposition-parser.ts";
import { Gate } from "../support/gate.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";
import { StopListener } from "../support/stop-listener.ts";
import { until } from "../support/until.ts";

const SCRIPT = fileURLToPath(new URL("../support/worker-script.mjs", import.meta.url));

let account: AccountHost;
beforeAll(async () => {
  account = await startAccountHost("jobs", "process");
});
afterAll(() => account.stop());

/** The id of a new endpoint, and a client of it. */
async function freshEndpoint(name: string, env = {}): Promise<readonly [string, QueueClient]> {
  const dockerArgs = `"${process.execPath}" "${SCRIPT}"`;
  const endpointId = await createEndpoint(account, { name, dockerArgs, env, workersMax: 1 });
  return [endpointId, new QueueClient({ ...account, endpointId })];
}

/** The clock of the edge and the age that the agent tells are in whole ms. */
const ROUNDING_MS = 2;
const names = (events: readonly TimelineEvent[]) => events.map(({ event }) => event);

test("the timeline of a cold start, then of a warm worker", async ({ expect }) => {
  const [, client] = await freshEndpoint("timeline");
  const timelineOf = (id: string) => client.timeline(id) as Promise<readonly TimelineEvent[]>;
  const gate = new Gate(account.stateDirectory);
  const { id } = await client.run({ mock_until: gate.file, mock_return: 1 });
  const isStarted = async () => names(await timelineOf(id)).includes("handler_started");
  await until(isStarted, "handler_started in the timeline", 60_000);
  const openedAt = Date.now();
  gate.open();
  await client.result(id);

  const cold = await timelineOf(id);
  expect(names(cold)).toEqual([
    "submitted",
    "worker_placed",
    "container_starting",
    "container_started",
    "runtime_started",
    "worker_ready",
    "taken",
    "handler_started",
    "handler_finished",
    "finished",
  ]);
  const times = cold.map(({ at }) => at);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  const at = (name: string) => cold.find(({ event }) => event === name)?.at ?? 0;
  expect(at("handler_started")).toBeLessThanOrEqual(openedAt);
  expect(at("handler_finished")).toBeGreaterThanOrEqual(openedAt - ROUNDING_MS);
  expect(cold.at(-1)?.status).toBe("COMPLETED");

  const second = await client.run({ mock_return: 2 });
  await client.result(second.id);
  const warm = await timelineOf(second.id);
  expect(names(warm)).toEqual(["submitted", "taken", "handler_started", "handler_finished", "finished"]);
});

/** Far less than passes until a worker or an agent would ask by itself. */
const SOON_MS = 2_000;
const now = (): number => performance.timeOrigin + performance.now();

function medianOf(delays: readonly number[]): number {
  return delays.toSorted((a, b) => a - b)[Math.floor(delays.length / 2)] ?? Number.NaN;
}

describe("from the cancel to the handler", () => {
  let listener: StopListener;
  beforeAll(async () => {
    listener = await StopListener.start();
  });
  afterAll(() => listener[Symbol.asyncDispose]());

  /** Cancels a job; answers how long it took until its handler was told. */
  async function cancel(client: QueueClient, jobId: string): Promise<number> {
    const startedAt = now();
    await client.cancel(jobId);
    return (await listener.stopped(jobId)) - startedAt;
  }

  test("thirty running jobs receive their stops soon, one after the other", async ({ expect }) => {
    const [, client] = await freshEndpoint("thirty", { MOCK_CONCURRENCY: "30" });
    const input = { mock_never: true, mock_stop_to: listener.address };
    const jobs = await Promise.all(Array.from({ length: 30 }, () => client.run(input)));
    await Promise.all(jobs.map(({ id }) => client.untilRunning(id)));
    const delays: number[] = [];
    for (const { id } of jobs) delays.push(await cancel(client, id));
    console.info(`from the cancel of one of 30 running jobs to its handler: ${medianOf(delays)} ms`);
    expect(medianOf(delays)).toBeLessThan(SOON_MS);
  });

  test("a job that has just begun receives its stop soon", async ({ expect }) => {
    const [, client] = await freshEndpoint("fresh");
    const delays: number[] = [];
    for (let count = 0; count < 10; count += 1) {
      const { id } = await client.run({ mock_never: true, mock_stop_to: listener.address });
      while ((await client.status(id)).status === "IN_QUEUE"); // without a pause: the job shall have only just begun
      delays.push(await cancel(client, id));
    }
    console.info(`from the cancel of a job just begun to its handler: ${medianOf(delays)} ms`);
    expect(medianOf(delays)).toBeLessThan(SOON_MS);
  });
});

const JOBS = 20;

describe("what is counted", () => {
  let endpointId: string;
  let client: QueueClient;
  beforeAll(async () => {
    [endpointId, client] = await freshEndpoint("metrics");
  });

  async function get(path: string): Promise<Response> {
    return fetch(`${account.baseUrl}${path}`, { headers: { Authorization: `Bearer ${account.apiKey}` } });
  }

  async function metrics(): Promise<RequestMetrics> {
    return (await (await get(`/v2/${endpointId}/metrics/requests?window=1h`)).json()) as RequestMetrics;
  }

  /** Whether a quantile fits the times of the jobs themselves. */
  function fits(told: number | null, exact: readonly number[], share: number): boolean {
    const value = exact.toSorted((a, b) => a - b)[Math.ceil(share * exact.length) - 1] ?? Number.NaN;
    return Math.abs((told ?? Number.NaN) - value) <= Math.max(1.5, value * 0.045 + 0.5);
  }

  test("twenty jobs are twenty everywhere, with the times that they say themselves", async ({ expect }) => {
    const submitted = await Promise.all(
      Array.from({ length: JOBS }, (_, count) => client.run({ mock_return: count })),
    );
    await Promise.all(submitted.map(({ id }) => client.result(id)));
    const jobs = await Promise.all(
      submitted.map(async ({ id }) => (await client.status(id)) as unknown as Record<string, number>),
    );
    const delays = jobs.map((job) => job["delayTime"] ?? Number.NaN);
    const executions = jobs.map((job) => job["executionTime"] ?? Number.NaN);

    const told = await metrics();
    expect(told).toMatchObject({ requests: JOBS, completed: JOBS, failed: 0 });
    expect(told.coldStartTime.count).toBeGreaterThan(0);
    for (const [name, share] of [
      ["p50", 0.5],
      ["p90", 0.9],
      ["p99", 0.99],
    ] as const) {
      expect(fits(told.delayTime[name], delays, share), `delay ${name}`).toBe(true);
      expect(fits(told.executionTime[name], executions, share), `execution ${name}`).toBe(true);
    }

    const families = parseExposition(await (await get("/metrics")).text());
    const ended = families.get("edgerun_endpoint_jobs_ended_total")?.samples ?? [];
    const completed = ended.find(
      ({ labels }) => labels["endpoint"] === endpointId && labels["state"] === "completed",
    );
    expect(completed?.value).toBe(JOBS);
    expect(families.get("edgerun_host_up")?.samples).toMatchObject([{ value: 1 }]);
  });
});
