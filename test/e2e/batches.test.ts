/** Batches end to end: submitted over HTTP as the documentation says, run by a real worker, with the edge killed. */
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, test } from "vitest";
import type { BatchSummary } from "../../src/contract/batch.ts";
import { startBareEdgerun, type BareEdgerun } from "../support/edgerun.ts";
import { createEndpoint } from "../support/management-client.ts";
import { until } from "../support/until.ts";

type Page = { requests: { id: string; status: string; output: unknown }[]; total: number; hasMore: boolean };

const WORKER = fileURLToPath(new URL("../support/worker-script.mjs", import.meta.url));
/** Three steps of the start, the last of them a small one. */
const LARGE_COUNT = 2_100;

let edgerun: BareEdgerun;
let endpointId: string;
/** What a batch was like when it was last asked for. */
let lastHeard: unknown;

beforeAll(async () => {
  edgerun = await startBareEdgerun({ runtime: "process" });
});
afterAll(() => edgerun.stop());
beforeEach(({ onTestFailed }) => {
  lastHeard = undefined;
  onTestFailed(() => console.info("last heard of a batch:", lastHeard, edgerun.output()));
});

async function call<Reply>(method: string, path: string, body?: unknown): Promise<Reply> {
  const response = await fetch(`${edgerun.baseUrl}/v2/${endpointId}/${path}`, {
    method,
    headers: { Authorization: `Bearer ${edgerun.apiKey}`, "Content-Type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json() as Promise<Reply>;
}

/** Asks until the edge is there. */
async function insist<Reply>(method: string, path: string): Promise<Reply> {
  const reply = await until(() => call<Reply>(method, path), `an answer to ${method} ${path}`, 60_000);
  lastHeard = reply;
  return reply as Reply;
}

/** As the documentation says when all requests have finished. */
async function untilEnded(id: string): Promise<BatchSummary> {
  const look = async () => {
    const batch = await insist<BatchSummary>("GET", `batch/${id}`);
    return batch.requestCompleted + batch.requestFailed === batch.requestTotal && batch;
  };
  return until(look, `the end of the batch ${id}`, 120_000);
}

async function allRequests(id: string): Promise<Page["requests"]> {
  const all: Page["requests"] = [];
  for (;;) {
    const page = await call<Page>("GET", `batch/${id}/requests?limit=500&offset=${all.length}`);
    all.push(...page.requests);
    if (!page.hasMore) return all;
  }
}

const returning = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ input: { mock_return: from + index } }));
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

describe("for a real worker", () => {
  beforeAll(async () => {
    const dockerArgs = `"${process.execPath}" "${WORKER}"`;
    const env = { MOCK_CONCURRENCY: "20" };
    endpointId = await createEndpoint(edgerun, { name: "batches", dockerArgs, env, workersMax: 1 });
  });

  test("a hundred jobs, in two calls, by a real worker", async ({ expect }) => {
    const { id, status } = await call<BatchSummary>("POST", "batch", returning(0, 60));
    expect(status).toBe("DRAFT");
    await call("POST", `batch/${id}/requests`, { requests: returning(60, 40) });
    await call("PUT", `batch/${id}`, { name: "a hundred" });
    await call("POST", `batch/${id}/finalize`);
    expect(await untilEnded(id)).toMatchObject({
      name: "a hundred",
      status: "FINALIZED",
      requestTotal: 100,
      requestInProgress: 0,
      requestCompleted: 100,
    });
    expect((await allRequests(id)).map(({ output }) => output)).toEqual(numbers(100));
    const { batches } = await call<{ batches: BatchSummary[] }>("GET", "batch");
    expect(batches.map((batch) => batch.id)).toEqual([id]);
  });

  test("a worker sees which batch its job is of", async ({ expect }) => {
    const { id } = await call<BatchSummary>("POST", "batch", [{ input: { mock_member: "batchId" } }]);
    await call("POST", `batch/${id}/finalize`);
    await untilEnded(id);
    expect((await allRequests(id)).map(({ output }) => output)).toEqual([id]);
  });
});

describe("of jobs that wait", () => {
  beforeAll(async () => {
    endpointId = await createEndpoint(edgerun, { name: "waiting", workersMax: 0 });
  });

  test("kill -9 of the edge while a batch starts: every request becomes one job", async ({ expect }) => {
    const { id } = await call<BatchSummary>("POST", "batch", returning(0, LARGE_COUNT));
    const finalizing = call("POST", `batch/${id}/finalize`).catch(() => "cut off");
    await delay(20);
    process.kill(edgerun.pids().edge, "SIGKILL");
    const outcome = await finalizing;
    console.info(`finalize when the edge was killed: ${outcome === "cut off" ? "cut off" : "answered"}`);
    expect(await insist("POST", `batch/${id}/finalize`)).toMatchObject({ requestTotal: LARGE_COUNT });
    const jobs = await allRequests(id);
    expect(new Set(jobs.map((job) => job.id)).size).toBe(LARGE_COUNT);
    expect(await call("GET", "health")).toMatchObject({ jobs: { inQueue: LARGE_COUNT } });
  });

  test("another job is taken while a large one starts, and stays when all of that is cancelled again", async ({
    expect,
  }) => {
    const { id } = await call<BatchSummary>("POST", "batch", returning(0, LARGE_COUNT));
    const [, other] = await Promise.all([
      call("POST", `batch/${id}/finalize`),
      call<{ id: string }>("POST", "run", { input: {} }),
    ]);
    expect(await call("POST", `batch/${id}/cancel`)).toMatchObject({ requestTotal: LARGE_COUNT });
    expect((await untilEnded(id)).status).toBe("CANCELLED");
    expect(await call("GET", `status/${other.id}`)).toMatchObject({ status: "IN_QUEUE" });
  });
});
