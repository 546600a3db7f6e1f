/** What a whole Edgerun tells of twenty jobs: in metrics, to Prometheus, and as usage; also after its edge was killed. */
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, test } from "vitest";
import type { RequestMetrics } from "../../src/contract/metrics.ts";
import { startBareEdgerun, type BareEdgerun } from "../support/edgerun.ts";
import { parseExposition } from "../support/exposition-parser.ts";
import { managementApi } from "../../standalone/management-api.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";

const SCRIPT = fileURLToPath(new URL("../support/worker-script.mjs", import.meta.url));
const JOBS = 20;
const LOOK_AGAIN_MS = 200;

let edgerun: BareEdgerun;
let endpointId: string;
let client: QueueClient;

beforeAll(async () => {
  edgerun = await startBareEdgerun({ runtime: "process" });
  endpointId = await createEndpoint(edgerun, {
    name: "metrics",
    dockerArgs: `"${process.execPath}" "${SCRIPT}"`,
  });
  client = new QueueClient({ ...edgerun, endpointId });
});
afterAll(() => edgerun.stop());

async function get(path: string): Promise<Response> {
  return fetch(`${edgerun.baseUrl}${path}`, { headers: { Authorization: `Bearer ${edgerun.apiKey}` } });
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

test("an edge that is killed has forgotten none, and the usage of the hour has them once", async ({
  expect,
}) => {
  process.kill(edgerun.pids().edge, "SIGKILL");
  const before = await client.health();
  expect(before.jobs.completed).toBe(JOBS);
  expect(await metrics()).toMatchObject({ requests: JOBS, completed: JOBS });

  type Usage = { readonly completed: number; readonly requests: number; readonly workerSeconds: number };
  const usage = async (): Promise<Usage | undefined> => {
    const query = `{ myself { usage(input: { endpointId: "${endpointId}", bucket: "day" })
      { completed requests workerSeconds } } }`;
    const api = managementApi(edgerun.baseUrl, edgerun.apiKey);
    return (await api.query<{ myself: { usage: Usage[] } }>(query)).myself.usage[0];
  };
  for (;;) {
    const told = await usage().catch(() => undefined); // the edge collects as soon as it is up again
    if (told && told.completed > 0) break;
    await delay(LOOK_AGAIN_MS);
  }
  expect(await usage()).toMatchObject({ completed: JOBS, requests: JOBS });
  expect((await usage())?.workerSeconds).toBeGreaterThan(0);
});
