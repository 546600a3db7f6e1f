/** Batches when the object is evicted in the middle, and next to what else may happen to jobs. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { BatchClient, inputs, warmBatchClient } from "./batch-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { endpointObject, evict, fireAlarm, passTime } from "./object.ts";

const api = new EdgeClient();
const { graphql, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());
afterEach(() => void vi.restoreAllMocks());

/** Lets time pass with every look at the clock, so that work which takes several turns stops after some. */
function hurryClock(stepMs: number): () => void {
  const realNow = Date.now.bind(Date);
  let hurried = 0;
  const spy = vi.spyOn(Date, "now").mockImplementation(() => realNow() + (hurried += stepMs));
  return () => spy.mockRestore();
}

const inQueue = async (client: BatchClient) =>
  ((await client.call("GET", "health")).body["jobs"] as { inQueue: number }).inQueue;

describe("an eviction", () => {
  test("in the middle of a start: every request becomes one job", async ({ expect }) => {
    const { client, endpointId, take } = await warmBatchClient(api);
    const id = await client.create(inputs(5_000));
    const calm = hurryClock(400);
    expect(await client.post(`${id}/finalize`)).toMatchObject({ status: "FINALIZED", requestTotal: 5_000 });
    calm();
    const started = await inQueue(client);
    expect(started).toBeGreaterThan(0);
    expect(started).toBeLessThan(5_000);
    await evict(endpointId);
    expect(await client.summaryOf(id)).toBe("FINALIZED 5000 0 0 0");
    await fireAlarm(endpointId);
    expect(await inQueue(client)).toBe(5_000);
    expect(await client.requests(id)).toMatchObject({ total: 5_000 });
    const jobs = await take(5_000);
    expect(jobs.map(({ input }) => input)).toEqual(inputs(5_000).map(({ input }) => input));
  });

  test("in the middle of a cancellation: nothing of the batch waits", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const id = await client.start(inputs(2_000));
    const calm = hurryClock(400);
    await client.post(`${id}/cancel`);
    calm();
    expect(await inQueue(client)).toBeGreaterThan(0);
    await evict(client.endpointId);
    await fireAlarm(client.endpointId);
    expect(await inQueue(client)).toBe(0);
    expect(await client.summaryOf(id)).toBe("CANCELLED 2000 0 0 2000");
  });

  test("of a draft, and of a batch with running, ended and removed jobs", async ({ expect }) => {
    const { client, agent, endpointId, take } = await warmBatchClient(api);
    const draft = await client.create(inputs(2));
    const id = await client.start([...inputs(3), { input: 3, policy: { ttl: 10_000 } }]);
    const [first] = await take(2);
    if (!first) throw new Error("a job");
    await agent.complete(endpointId, first, 1);
    await evict(endpointId);
    expect(await client.summaryOf(draft)).toBe("DRAFT 2 0 0 0");
    expect(await client.summaryOf(id)).toBe("FINALIZED 4 1 1 0");
    passTime(30_000);
    await fireAlarm(endpointId);
    await evict(endpointId);
    expect(await client.summaryOf(id)).toBe("FINALIZED 4 1 1 1");
    expect(await client.requests(id)).toMatchObject({ total: 3 });
  });
});

describe("jobs of a batch are treated like others", () => {
  test("purge-queue cancels queued requests, also those about to start", async ({ expect }) => {
    const { client, agent, endpointId, take } = await warmBatchClient(api);
    const whole = await client.start(inputs(3));
    const [running] = await take(1);
    const partly = await client.create(inputs(3_000));
    const calm = hurryClock(400);
    await client.post(`${partly}/finalize`);
    calm();
    expect(await inQueue(client)).toBeLessThan(3_002);
    await client.call("POST", "purge-queue");
    await fireAlarm(endpointId);
    expect(await inQueue(client)).toBe(0);
    expect(await client.summaryOf(whole)).toBe("FINALIZED 3 1 0 2");
    expect(await client.summaryOf(partly)).toBe("CANCELLED 3000 0 0 3000");
    if (running) await agent.complete(endpointId, running, 1);
    await evict(endpointId);
    expect(await client.summaryOf(whole)).toBe("FINALIZED 3 0 1 2");
  });

  test("an expired job counts as failed, before and after its row is removed", async ({ expect }) => {
    const { client, agent, endpointId, take } = await warmBatchClient(api);
    const id = await client.start(inputs(3).map((each) => ({ ...each, policy: { ttl: 60_000 } })));
    const [done] = await take(2); // one ends, one runs on, one waits
    if (!done) throw new Error("a job");
    await agent.complete(endpointId, done, 1);
    expect(await client.summaryOf(id)).toBe("FINALIZED 3 1 1 0");
    passTime(60_000);
    expect(await client.summaryOf(id)).toBe("FINALIZED 3 0 1 2");
    passTime(20_000);
    await fireAlarm(endpointId);
    expect(await rowCount(endpointId, "job")).toBe(1); // the job of the warm-up
    expect(await client.summaryOf(id)).toBe("FINALIZED 3 0 1 2");
    await evict(endpointId);
    expect(await client.summaryOf(id)).toBe("FINALIZED 3 0 1 2");
  });

  test("one job can be cancelled or retried alone, which reopens an ended batch", async ({ expect }) => {
    const { client, agent, workerId, endpointId, take } = await warmBatchClient(api);
    const id = await client.start(inputs(2));
    const [failing] = await take(1);
    if (!failing) throw new Error("a job");
    const ref = { jobId: failing.id, workerId };
    await agent.report(endpointId, { kind: "failed", ...ref, attempt: 1, error: "bad" });
    const { requests } = await client.requests(id);
    await client.call("POST", `cancel/${requests[1]?.id}`);
    expect(await client.summaryOf(id)).toBe("FINALIZED 2 0 0 2");
    await evict(endpointId);
    await client.call("POST", `retry/${failing.id}`);
    expect(await client.summaryOf(id)).toBe("FINALIZED 2 0 0 1");
    const [again] = await take(1);
    expect(again).toMatchObject({ id: failing.id, attempt: 2, batchId: id });
    if (again) await agent.complete(endpointId, again, "better");
    expect(await client.summaryOf(id)).toBe("FINALIZED 2 0 1 1");
  });

  test("a lost worker's job is queued again and counted as waiting", async ({ expect }) => {
    const { client, agent, workerId, endpointId, take } = await warmBatchClient(api);
    const id = await client.start(inputs(1));
    const [job] = await take(1);
    if (!job) throw new Error("a job");
    await agent.report(endpointId, { kind: "lost", jobId: job.id, attempt: 1, workerId, reason: "gone." });
    expect(await client.summaryOf(id)).toBe("FINALIZED 1 0 0 0");
  });

  test("a job that is queued again in a cancelled batch may run, or be cancelled as well", async ({
    expect,
  }) => {
    const { client, agent, workerId, endpointId, take } = await warmBatchClient(api);
    const id = await client.start(inputs(1));
    const [job] = await take(1);
    if (!job) throw new Error("a job");
    await client.post(`${id}/cancel`);
    await agent.report(endpointId, { kind: "lost", jobId: job.id, attempt: 1, workerId, reason: "gone." });
    expect(await client.summaryOf(id)).toBe("FINALIZED 1 0 0 0");
    expect(await client.post(`${id}/cancel`)).toMatchObject({ status: "CANCELLED", requestFailed: 1 });
    expect(await client.status(job.id)).toBe("CANCELLED");
  });

  test("batches and their payloads are deleted with their endpoint", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMin: 0, workersMax: 0");
    const { endpointId } = client;
    await client.create([{ input: "x".repeat(300_000) }]);
    await client.start(inputs(3));
    await graphql(`mutation { deleteEndpoint(id: "${endpointId}") }`);
    await vi.waitUntil(async () => (await stored(endpointId)) === 0);
    expect((await client.call("GET", "batch")).body).toMatchObject({ code: "endpoint_not_found" });
  });
});

describe("what a batch costs", () => {
  test("payloads of removed requests are deleted from R2", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const large = { input: "x".repeat(300_000) };
    const id = await client.create([large, { input: 1 }, large]);
    expect(await stored(client.endpointId)).toBe(2);
    await client.call("DELETE", `batch/${id}/requests/req_0`);
    await vi.waitUntil(async () => (await stored(client.endpointId)) === 1);
    await client.post(`${id}/cancel`);
    await vi.waitUntil(async () => (await stored(client.endpointId)) === 0);
    const refused = await client.call("POST", `batch/${id}/requests`, [large]);
    expect(refused.status).toBe(400);
    await vi.waitUntil(async () => (await stored(client.endpointId)) === 0);
  });

  test("a row for each job, and few for the batch", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const { endpointId } = client;
    await client.call("GET", "health");
    const rowsWritten = async () => (await endpointObject(endpointId).vitals()).rowsWritten;
    const before = await rowsWritten();
    const id = await client.create(inputs(5_000));
    const drafted = await rowsWritten();
    await client.post(`${id}/finalize`);
    const started = await rowsWritten();
    console.info(
      `rows for 5000 requests: ${drafted - before} as a draft, ${started - drafted} at their start`,
    );
    expect(drafted - before).toBeLessThan(10);
    expect(started - drafted).toBeLessThan(5_030);
    expect(await rowCount(endpointId, "batch_pack")).toBe(0);
  });
});

async function stored(endpointId: string): Promise<number> {
  return (await env.PAYLOADS.list({ prefix: `jobs/${endpointId}/` })).objects.length;
}

async function rowCount(endpointId: string, table: "job" | "batch_pack"): Promise<number> {
  return runInDurableObject(
    endpointObject(endpointId),
    (_, state) =>
      state.storage.sql.exec<{ count: number }>(`SELECT count(*) AS count FROM ${table}`).one().count,
  );
}
