/** The batch API: drafts, their start, progress, results, cancelling. */
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { BatchClient, inputs, warmBatchClient } from "./batch-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { fireAlarm, passTime } from "./object.ts";
import { issueAt } from "./message-facts.ts";

const api = new EdgeClient();
const { signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const DAY_MS = 86_400_000;
const SWEEP_GRAIN_MS = 10_000;

describe("a draft", () => {
  test("is made, grows, shrinks, gets a name, and starts nothing", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const made = await client.call("POST", "batch", inputs(2));
    expect(made).toMatchObject({ status: 200 });
    expect(made.body).toEqual({ id: expect.stringMatching(/^batch_[0-9a-f]+$/), status: "DRAFT" });
    const id = String(made.body["id"]);
    expect(await client.post(`${id}/requests`, { requests: [{ input: "c" }, { input: "d" }] })).toMatchObject(
      {
        status: "DRAFT",
        requestTotal: 4,
      },
    );
    const { requests } = await client.requests(id);
    expect(requests.map(({ status }) => status)).toEqual(["DRAFT", "DRAFT", "DRAFT", "DRAFT"]);
    const removed = await client.call("DELETE", `batch/${id}/requests/${requests[1]?.id}`);
    expect(removed.body).toMatchObject({ id, requestTotal: 3 });
    expect((await client.requests(id)).requests.map((row) => row.id)).toEqual(
      [requests[0], requests[2], requests[3]].map((row) => row?.id),
    );
    expect((await client.call("DELETE", `batch/${id}/requests/${requests[1]?.id}`)).status).toBe(404);

    await client.call("PUT", `batch/${id}`, { name: "nightly" });
    expect(await client.look(id)).toEqual({
      id,
      endpointId: client.endpointId,
      name: "nightly",
      status: "DRAFT",
      requestTotal: 3,
      requestInProgress: 0,
      requestCompleted: 0,
      requestFailed: 0,
      createdAt: expect.any(Number),
    });
    expect((await client.call("GET", "health")).body["jobs"]).toMatchObject({ inQueue: 0 });
  });

  test("lists its requests in pages over packs", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const id = await client.create(inputs(1_500));
    await client.post(`${id}/requests`, { requests: inputs(10) });
    const page = await client.requests(id, "?offset=990&limit=20");
    expect(page).toMatchObject({ total: 1_510, offset: 990, limit: 20, hasMore: true });
    expect(page.requests.map((row) => row.id)).toEqual(
      Array.from({ length: 20 }, (_, index) => `req_${990 + index}`),
    );
    const last = await client.requests(id, "?offset=1505");
    expect(last).toMatchObject({ hasMore: false });
    expect(last.requests).toHaveLength(5);
  });

  test("cannot be made twice with one idempotency key", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const make = async () => {
      const { body } = await client.call("POST", "batch", inputs(1), { "Idempotency-Key": "tonight" });
      return body["id"];
    };
    expect(new Set(await Promise.all([make(), make(), make()])).size).toBe(1);
    expect((await client.call("GET", "batch")).body).toMatchObject({ total: 1 });
  });

  test("is cancelled after a day without a call, and removed a day later", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const id = await client.create(inputs(3));
    passTime(DAY_MS);
    await fireAlarm(client.endpointId);
    expect(await client.summaryOf(id)).toBe("CANCELLED 3 0 0 3");
    passTime(DAY_MS);
    await fireAlarm(client.endpointId);
    expect((await client.call("GET", `batch/${id}`)).body).toMatchObject({ code: "not_found" });
  });
});

describe("a started batch", () => {
  test("shows its progress, and its results in the order of its requests", async ({ expect }) => {
    const { client, agent, workerId, endpointId, take } = await warmBatchClient(api);
    const id = await client.create([]);
    await client.post(`${id}/requests`, { requests: [{ input: "a" }, { input: "b" }, { input: "c" }] });
    expect(await client.post(`${id}/finalize`)).toMatchObject({ status: "FINALIZED", requestTotal: 3 });
    const jobs = await take(2);
    expect(jobs.map(({ input, batchId }) => [input, batchId])).toEqual([
      ["a", id],
      ["b", id],
    ]);
    expect(await client.summaryOf(id)).toBe("FINALIZED 3 2 0 0");

    const [first, second] = jobs;
    if (!first || !second) throw new Error("two jobs");
    passTime(2_000);
    await agent.complete(endpointId, first, { n: 1 });
    const failure = { kind: "failed", jobId: second.id, attempt: 1, workerId, error: "bad" } as const;
    await agent.report(endpointId, failure);
    expect(await client.summaryOf(id)).toBe("FINALIZED 3 0 1 1");
    const page = await client.requests(id);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(page).toEqual({
      requests: [
        { id: first.id, status: "COMPLETED", output: { n: 1 }, startedAt: time, completedAt: time },
        { id: second.id, status: "FAILED", error: "bad", startedAt: time, completedAt: time },
        { id: expect.any(String), status: "IN_QUEUE" },
      ],
      total: 3,
      offset: 0,
      limit: 50,
      hasMore: false,
    });
    const [last] = await take(1);
    if (!last) throw new Error("a job");
    await agent.complete(endpointId, last, null);
    expect(await client.summaryOf(id)).toBe("FINALIZED 3 0 2 1");
  });

  test("keeps the order of its requests, and queues low-priority ones with that priority", async ({
    expect,
  }) => {
    const { client, take } = await warmBatchClient(api);
    const low = { policy: { lowPriority: true } };
    const id = await client.start([
      { input: "a" },
      { input: "b", ...low },
      { input: "c" },
      { input: "d", ...low },
    ]);
    const jobs = await take(4);
    expect(jobs.map(({ input }) => input)).toEqual(["a", "c", "b", "d"]);
    const idOf = new Map(jobs.map((job) => [job.input, job.id]));
    const { requests } = await client.requests(id);
    expect(requests.map((row) => row.id)).toEqual(["a", "b", "c", "d"].map((input) => idOf.get(input)));
    expect((await client.requests(id, "?offset=1&limit=2")).requests.map((row) => row.id)).toEqual(
      ["b", "c"].map((input) => idOf.get(input)),
    );
  });

  test("consists of its jobs alone, whatever else is queued in between", async ({ expect }) => {
    const { client, take } = await warmBatchClient(api);
    const one = await client.start(inputs(2));
    await client.call("POST", "run", { input: "alone" });
    const other = await client.start(inputs(3));
    await take(3);
    expect(await client.summaryOf(one)).toBe("FINALIZED 2 2 0 0");
    expect(await client.summaryOf(other)).toBe("FINALIZED 3 0 0 0");
    expect((await client.call("GET", "batch?limit=1")).body).toMatchObject({
      batches: [{ id: other }],
      total: 2,
      hasMore: true,
    });
  });

  test("options of a request reach the worker, and large inputs and outputs pass through R2", async ({
    expect,
  }) => {
    const { client, agent, endpointId, take } = await warmBatchClient(api);
    const large = "x".repeat(300_000);
    const request = { input: large, webhook: "https://example.com/", policy: { executionTimeout: 9_000 } };
    const id = await client.start([request, { input: 1 }]);
    const jobs = await take(2);
    expect(jobs[0]).toMatchObject({ ...request, executionTimeoutMs: 9_000, batchId: id });
    for (const job of jobs) await agent.complete(endpointId, job, large + String(jobs.indexOf(job)));
    const { requests } = await client.requests(id);
    expect(requests.map(({ output }) => output)).toEqual([`${large}0`, `${large}1`]);
  });

  test("a page has as many requests as were requested", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const id = await client.start(inputs(130));
    const page = await client.requests(id, "?limit=120");
    expect(page.hasMore).toBe(true);
    expect(new Set(page.requests.map((row) => row.id)).size).toBe(120);
    expect((await client.requests(id, "?limit=120&offset=120")).requests).toHaveLength(10);
    expect(await client.requests(id, "?offset=500")).toMatchObject({
      requests: [],
      total: 130,
      hasMore: false,
    });
  });

  test("can be finalized twice, and is no longer a draft", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const id = await client.start(inputs(2));
    expect(await client.post(`${id}/finalize`)).toMatchObject({ status: "FINALIZED", requestTotal: 2 });
    expect((await client.call("GET", "health")).body["jobs"]).toMatchObject({ inQueue: 2 });
    const { requests } = await client.requests(id);
    for (const refused of [
      client.call("POST", `batch/${id}/requests`, { requests: inputs(1) }),
      client.call("DELETE", `batch/${id}/requests/${requests[0]?.id}`),
    ]) {
      expect(await refused).toMatchObject({
        status: 400,
        body: { code: "invalid_input", error: expect.stringContaining("FINALIZED") },
      });
    }
  });

  test.for([0, 1])(
    "outlives its results, which are stored for a day (%i ms off the grain)",
    async (offMs, { expect }) => {
      const { client, agent, endpointId, take } = await warmBatchClient(api);
      const id = await client.start(inputs(2).map((each) => ({ ...each, policy: { ttl: 7 * DAY_MS } })));
      const [first, second] = await take(2);
      if (!first || !second) throw new Error("two jobs");
      // Rows are removed at multiples of the grain: with 0 ms in the very alarm in which the batch is due.
      vi.setSystemTime(Math.ceil(Date.now() / SWEEP_GRAIN_MS) * SWEEP_GRAIN_MS + offMs);
      await agent.complete(endpointId, first, "kept");
      await agent.complete(endpointId, second, "kept");
      passTime(DAY_MS - 60_000);
      await fireAlarm(endpointId);
      expect((await client.requests(id)).requests.map(({ output }) => output)).toEqual(["kept", "kept"]);
      passTime(60_000);
      await fireAlarm(endpointId);
      passTime(20_000);
      await fireAlarm(endpointId);
      expect(await client.requests(id)).toMatchObject({ requests: [], total: 0 });
      expect(await client.summaryOf(id)).toBe("FINALIZED 2 0 2 0");
      passTime(2 * DAY_MS);
      await fireAlarm(endpointId);
      expect((await client.call("GET", `batch/${id}`)).status).toBe(404);
    },
  );
});

describe("cancelling", () => {
  test("a draft drops its requests", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const id = await client.create([{ input: "x".repeat(300_000) }, { input: 1 }]);
    expect(await client.post(`${id}/cancel`)).toMatchObject({ status: "CANCELLED", requestFailed: 2 });
    const { status, body } = await client.call("POST", `batch/${id}/finalize`);
    expect([status, body["error"]]).toEqual([400, expect.stringContaining("CANCELLED")]);
  });

  test("queued jobs are cancelled, running ones may finish, and then the batch is cancelled", async ({
    expect,
  }) => {
    const { client, agent, endpointId, take } = await warmBatchClient(api);
    const id = await client.start(inputs(1_200));
    const [running] = await take(1);
    if (!running) throw new Error("a job");
    expect(await client.post(`${id}/cancel`)).toMatchObject({ status: "FINALIZED", requestFailed: 1_199 });
    expect(await client.summaryOf(id)).toBe("FINALIZED 1200 1 0 1199");
    expect((await client.call("GET", "health")).body["jobs"]).toMatchObject({ inQueue: 0, inProgress: 1 });
    expect(await agent.complete(endpointId, running, "done")).toBe("accepted");
    expect(await client.summaryOf(id)).toBe("CANCELLED 1200 0 1 1199");
    expect(await client.post(`${id}/cancel`)).toMatchObject({ status: "CANCELLED" });
  });

  test("other jobs of the queue are left alone", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const before = await client.call("POST", "run", { input: 1 });
    const id = await client.start(inputs(2));
    const after = await client.call("POST", "run", { input: 1 });
    await client.post(`${id}/cancel`);
    expect(await client.status(String(before.body["id"]))).toBe("IN_QUEUE");
    expect(await client.status(String(after.body["id"]))).toBe("IN_QUEUE");
  });
});

describe("limits", () => {
  test("ten batches may be active; one that has ended does not count", async ({ expect }) => {
    const { client, agent, endpointId, take } = await warmBatchClient(api);
    const first = await client.start(inputs(1));
    for (let more = 0; more < 9; more += 1) await client.create([]);
    const refused = await client.call("POST", "batch", inputs(1));
    expect(refused).toMatchObject({
      status: 429,
      body: { code: "rate_limited", error: expect.stringContaining("10 batches") },
    });
    expect(refused.headers.get("Retry-After")).toBe("10");
    const [job] = await take(1);
    if (!job) throw new Error("a job");
    await agent.complete(endpointId, job, 1);
    expect(await client.summaryOf(first)).toBe("FINALIZED 1 0 1 0");
    expect((await client.call("POST", "batch", inputs(1))).status).toBe(200);
  });

  test.for([
    ["no array", { input: 1 }, issueAt("requests")],
    ["a request without input", [{ input: 1 }, {}], /^\[1\]\.input: is required/],
    ["a wrong policy", [{ input: 1, policy: { ttl: 1 } }], /^\[0\]\.policy\.ttl: must be at least/],
    ["too many requests", inputs(5_001), /^body: must hold at most 5000/],
  ] as const)("refuses %s, and makes nothing", async ([, body, message], { expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const reply = await client.call("POST", "batch", body);
    expect(reply).toMatchObject({
      status: 400,
      body: { code: "invalid_input", error: expect.stringMatching(message) },
    });
    expect((await client.call("GET", "batch")).body).toMatchObject({ total: 0 });
  });

  test("a batch has at most 5000 requests, in however many calls they arrive", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const id = await client.create(inputs(4_999));
    const append = (requests: unknown) => client.call("POST", `batch/${id}/requests`, { requests });
    expect(await append(inputs(2))).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(issueAt("requests", 5_001)) },
    });
    expect((await append([{ input: 1, webhook: "no" }])).body["error"]).toMatch(/^requests\[0\]\.webhook/);
    expect((await append(inputs(1))).body).toMatchObject({ requestTotal: 5_000 });
  });

  test("a body above 10 MiB is rejected", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const just = JSON.stringify([{ input: "x".repeat(10 * 1024 * 1024 - 20) }]);
    expect((await client.call("POST", "batch", just)).status).toBe(200);
    expect(await client.call("POST", "batch", `${just}         `)).toMatchObject({
      status: 413,
      body: { code: "payload_too_large" },
    });
  });

  test("a batch is not found under another endpoint or another id", async ({ expect }) => {
    const client = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const other = await BatchClient.onFreshEndpoint(api, "workersMax: 0");
    const id = await client.create([]);
    await other.create([]);
    for (const reply of [
      other.call("GET", `batch/${id}`),
      other.call("POST", `batch/${id}/finalize`),
      client.call("GET", "batch/batch_1"),
      client.call("GET", `batch/${id.slice(0, -1)}2/requests`),
    ]) {
      expect(await reply).toMatchObject({ status: 404, body: { code: "not_found" } });
    }
  });
});
