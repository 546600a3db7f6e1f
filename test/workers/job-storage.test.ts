/** What jobs of an endpoint may take: refused above the limit, counted exactly, and given back. */
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { DispatchedJob } from "../../src/contract/agent/agent.ts";
import { BATCH_RETENTION_MS } from "../../src/endpoint/batches/batch-index.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { inputs, warmBatchClient } from "./batch-client.ts";
import { EdgeClient } from "./edge-client.ts";
import {
  configure,
  endpointObject,
  evict,
  fireAlarm,
  kill,
  limitStorage,
  passTime,
  untilHeld,
} from "./object.ts";
import { bucketIsEmpty, inPieces, payloadKeys } from "./payload-bucket.ts";
import { RUN_RETENTION_MS } from "../../src/domain/jobs/job-machine.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());
afterEach(() => limitStorage(undefined));

const LARGE = "x".repeat(400_000);
const run = (endpointId: string, input: unknown, headers?: Record<string, string>) =>
  call("POST", `/v2/${endpointId}/run`, { input }, headers);

/** An endpoint with a worker that takes jobs. */
async function readyEndpoint() {
  const endpointId = await createEndpoint("workersMin: 1, workersMax: 1, idleTimeout: 3600");
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const take = async (count: number) =>
    (await agent.exchange(endpointId, { slots: [{ workerId, free: count }] })).jobs;
  return { endpointId, agent, workerId, take };
}

/** What the object has counted, and what there is. */
async function storedBytes(endpointId: string) {
  const { storedBytes: counted } = await endpointObject(endpointId).vitals();
  const { objects } = await env.PAYLOADS.list({ prefix: `jobs/${endpointId}/` });
  return { counted, there: objects.reduce((sum, { size }) => sum + size, 0) };
}

async function statusOf(endpointId: string, jobId: unknown): Promise<Record<string, unknown>> {
  return (await call("GET", `/v2/${endpointId}/status/${String(jobId)}`)).body;
}

describe("above the limit", () => {
  beforeEach(() => limitStorage("0.001")); // 1 MB

  /** Two large inputs; a third one is too much. */
  async function fullEndpoint() {
    const endpoint = await readyEndpoint();
    const first = await run(endpoint.endpointId, LARGE, { "Idempotency-Key": "first" });
    await run(endpoint.endpointId, LARGE);
    return { ...endpoint, first: first.body["id"] };
  }

  const operations: readonly [name: string, path: string, body: unknown][] = [
    ["run", "run", { input: LARGE }],
    ["runsync", "runsync", { input: LARGE }],
    ["a batch", "batch", [{ input: LARGE }]],
    ["a batch of small inputs", "batch", inputs(5_000).map(() => ({ input: "x".repeat(60) }))],
  ];
  test.for(operations)("%s is rejected and leaves nothing", async ([, path, body], { expect }) => {
    const { endpointId } = await fullEndpoint();
    const before = { keys: await payloadKeys(endpointId), ...(await storedBytes(endpointId)) };
    const refused = await call("POST", `/v2/${endpointId}/${path}`, body);
    expect(refused.status).toBe(429);
    expect(refused.body).toMatchObject({ code: "rate_limited", error: expect.stringMatching(/0\.00 GB/) });
    expect(refused.headers.get("Retry-After")).toBe("10");
    expect(refused.headers.get("RateLimit-Policy")).toBe('"storage";q=1000000;qu="stored-bytes"');
    expect(refused.headers.get("RateLimit")).toMatch(/^"storage";r=\d{4,6}$/);
    await vi.waitUntil(async () => (await payloadKeys(endpointId)).length === before.keys.length);
    expect({ keys: await payloadKeys(endpointId), ...(await storedBytes(endpointId)) }).toEqual(before);
  });

  test("clients of OpenAI get the error in their format", async ({ expect }) => {
    const { endpointId } = await fullEndpoint();
    const body = { model: "m", messages: [{ role: "user", content: LARGE }] };
    const refused = await call("POST", `/v2/${endpointId}/openai/v1/chat/completions`, body);
    expect(refused.status).toBe(429);
    expect(refused.body).toMatchObject({ error: { code: "rate_limit_exceeded" } });
    await vi.waitUntil(async () => (await payloadKeys(endpointId)).length === 2);
  });

  test("a draft takes no more requests, and starts", async ({ expect }) => {
    const { client, endpointId } = await warmBatchClient(api);
    const id = await client.create([{ input: LARGE }, { input: LARGE }]);
    const refused = await client.call("POST", `batch/${id}/requests`, [{ input: LARGE }]);
    expect([refused.status, refused.body["code"]]).toEqual([429, "rate_limited"]);
    await vi.waitUntil(async () => (await payloadKeys(endpointId)).length === 2);
    expect(await client.post(`${id}/finalize`)).toMatchObject({ status: "FINALIZED", requestTotal: 2 });
  });

  test("small inputs, known idempotency keys and results are accepted", async ({ expect }) => {
    const { endpointId, agent, take, first } = await fullEndpoint();
    expect((await run(endpointId, 1)).status).toBe(200);
    const again = await run(endpointId, LARGE, { "Idempotency-Key": "first" });
    expect([again.status, again.body["id"]]).toEqual([200, first]);
    const [job] = await take(1);
    expect(await agent.complete(endpointId, job as DispatchedJob, LARGE)).toBe("accepted");
    expect(await statusOf(endpointId, first)).toMatchObject({ status: "COMPLETED", output: LARGE });
    expect((await run(endpointId, LARGE)).status).toBe(429);
  });

  test("a failed job is run again with the input that it has", async ({ expect }) => {
    const { endpointId, agent, workerId, take, first } = await fullEndpoint();
    const [job] = await take(1);
    const ref = { jobId: job?.id ?? "", attempt: 1, workerId };
    await agent.report(endpointId, { kind: "failed", ...ref, error: "e", output: LARGE as never });
    expect((await call("POST", `/v2/${endpointId}/retry/${String(first)}`)).status).toBe(200);
    const { counted } = await storedBytes(endpointId);
    expect(counted).toBeLessThan(900_000); // the result of the attempt has gone
    const [second] = await take(1);
    expect(second).toMatchObject({ id: first, attempt: 2, input: LARGE });
  });

  test("submissions are accepted again when results have been removed", async ({ expect }) => {
    const { endpointId, agent, take } = await fullEndpoint();
    for (const job of await take(2)) await agent.complete(endpointId, job, 1);
    expect((await run(endpointId, LARGE)).status).toBe(429);
    passTime(RUN_RETENTION_MS + 10_000);
    await fireAlarm(endpointId);
    expect((await run(endpointId, LARGE)).status).toBe(200);
  });
});

describe("far above the limit", () => {
  test("jobs wait with a reason, and run as soon as a result has been removed", async ({ expect }) => {
    limitStorage("0.002");
    const { endpointId, agent, workerId, take } = await readyEndpoint();
    await Promise.all([1, 2, 3].map((input) => run(endpointId, input)));
    const waiting = await run(endpointId, "waits");
    const output = "x".repeat(1_000_000) as never;
    const ended = await take(3);
    for (const { id: jobId, attempt } of ended) {
      const report = { kind: "failed", jobId, attempt, workerId, error: "e", output } as const;
      expect(await agent.report(endpointId, report)).toBe("accepted");
    }
    expect(await take(1)).toEqual([]);
    const status = await statusOf(endpointId, waiting.body["id"]);
    expect(status).toMatchObject({ status: "IN_QUEUE", queue: { position: 1, reason: "storage_full" } });
    await evict(endpointId);
    expect(await take(1)).toEqual([]);

    const held = agent.exchange(endpointId, { slots: [{ workerId, free: 2 }], holdMs: 10_000 });
    await untilHeld(endpointId);
    await call("POST", `/v2/${endpointId}/retry/${ended[0]?.id}`); // which forgets its result
    expect((await held).jobs.map(({ id }) => id)).toEqual([ended[0]?.id, waiting.body["id"]]);
  });

  test("a stream that would fill the database ends its job", async ({ expect }) => {
    limitStorage("0.001");
    const { endpointId, agent, take } = await readyEndpoint();
    await run(endpointId, 1);
    const [job] = await take(1);
    if (!job) throw new Error("a job");
    const chunk = "x".repeat(900_000);
    expect(await agent.stream(endpointId, job, 1, [chunk])).toBe(1);
    expect(await agent.stream(endpointId, job, 2, [chunk])).toBe(2);
    expect(await statusOf(endpointId, job.id)).toMatchObject({ status: "IN_PROGRESS" });
    await agent.stream(endpointId, job, 3, [chunk]);
    const status = await statusOf(endpointId, job.id);
    expect(status).toMatchObject({ status: "FAILED", error: expect.stringMatching(/storage/) });
  });
});

describe("payloads in R2 are counted", () => {
  const submitInPieces = (endpointId: string, input: string) =>
    exports.default.fetch(`http://edge/v2/${endpointId}/run`, {
      method: "POST",
      headers: { Authorization: `Bearer ${api.key}` },
      body: inPieces(JSON.stringify({ input })),
    });

  const losses: readonly [string, (endpointId: string) => Promise<void>][] = [
    ["hibernation", evict],
    ["death", kill],
  ];
  test.for(losses)("as they are, also after %s", async ([, lose], { expect }) => {
    const { endpointId, agent, workerId, take } = await readyEndpoint();
    const expectExact = async () => {
      const { counted, there } = await storedBytes(endpointId);
      expect(counted).toBe(there);
      await lose(endpointId);
      expect((await storedBytes(endpointId)).counted).toBe(there);
      return there;
    };
    await run(endpointId, 1);
    expect(await expectExact()).toBe(0);
    await run(endpointId, LARGE);
    await call("POST", `/v2/${endpointId}/run`, { input: LARGE, policy: { lowPriority: true } });
    await submitInPieces(endpointId, LARGE);
    expect(await expectExact()).toBeGreaterThan(5_000_000); // the last one lies in a part of 5 MiB
    const jobs = await take(4);
    expect(jobs).toHaveLength(4);
    await expectExact();
    const [first, second, third] = jobs as [DispatchedJob, DispatchedJob, DispatchedJob];
    await agent.complete(endpointId, first, LARGE);
    await expectExact();
    await agent.complete(endpointId, second, 1);
    const ref = { jobId: third.id, attempt: third.attempt, workerId };
    await agent.report(endpointId, { kind: "failed", ...ref, error: "e", output: LARGE as never });
    await expectExact();
    await call("POST", `/v2/${endpointId}/retry/${third.id}`);
    await vi.waitUntil(async () => (await payloadKeys(endpointId)).length === 4);
    await expectExact();
    await run(endpointId, LARGE);
    await call("POST", `/v2/${endpointId}/purge-queue`);
    await expectExact();
    passTime(2 * BATCH_RETENTION_MS);
    await fireAlarm(endpointId);
    await fireAlarm(endpointId);
    await bucketIsEmpty(endpointId);
    expect(await expectExact()).toBe(0);
  });

  test("in batches as well, from the draft on", async ({ expect }) => {
    const { client, agent, endpointId, take } = await warmBatchClient(api);
    const expectBytes = async (count: number) => {
      await vi.waitUntil(async () => (await payloadKeys(endpointId)).length === count);
      for (const look of [1, 2]) {
        const { counted, there } = await storedBytes(endpointId);
        expect([look, counted]).toEqual([look, there]);
        await evict(endpointId);
      }
    };
    const large = { input: LARGE };
    const id = await client.create([large, { input: 1 }, large]);
    await expectBytes(2);
    await client.post(`${id}/requests`, [large]);
    await expectBytes(3);
    await client.call("DELETE", `batch/${id}/requests/req_0`);
    await expectBytes(2);
    await client.post(`${id}/finalize`);
    await expectBytes(2);
    for (const job of await take(3)) await agent.complete(endpointId, job, LARGE);
    await expectBytes(5);
    const other = await client.create([large, large]);
    await client.post(`${other}/cancel`);
    await expectBytes(5);
    await client.start([large, large]);
    await client.call("POST", "purge-queue");
    await expectBytes(7);
    passTime(2 * BATCH_RETENTION_MS);
    await fireAlarm(endpointId);
    await expectBytes(0);
  });

  test("a queue that is full leaves nothing that is counted", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMax: 0");
    await configure(endpointId, { queueDepthMax: 0 });
    expect((await run(endpointId, LARGE)).status).toBe(429);
    await bucketIsEmpty(endpointId);
    expect(await storedBytes(endpointId)).toEqual({ counted: 0, there: 0 });
  });
});
