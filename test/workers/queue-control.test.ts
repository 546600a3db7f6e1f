/** retry, purge-queue and requests. */
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { endpointObject, evict, fireAlarm, passTime } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

async function readyEndpoint() {
  const endpointId = await createEndpoint("idleTimeout: 3600");
  const agent = await ScriptedAgent.join(api);
  const run = async (input: unknown, policy = {}) =>
    String((await call("POST", `/v2/${endpointId}/run`, { input, policy })).body["id"]);
  const post = (operation: string) => call("POST", `/v2/${endpointId}/${operation}`);
  const get = async (operation: string) => (await call("GET", `/v2/${endpointId}/${operation}`)).body;
  const first = await run("first");
  const workerId = await agent.bringUpWorker(endpointId);
  const job = await agent.take(endpointId, workerId);
  return { endpointId, agent, workerId, first, job, run, post, get };
}

describe("retry", () => {
  test("queues a failed job again, in front, with its id and input and without its old output", async ({
    expect,
  }) => {
    const { endpointId, agent, workerId, job, run, post, get } = await readyEndpoint();
    await run("behind");
    const ref = { jobId: job.id, attempt: 1, workerId };
    await agent.report(endpointId, { kind: "failed", ...ref, error: "bad", output: "old".repeat(200_000) });
    passTime(1_000);
    expect(await post(`retry/${job.id}`)).toMatchObject({
      status: 200,
      body: { id: job.id, status: "IN_QUEUE" },
    });
    expect(await get(`status/${job.id}`)).not.toHaveProperty("output");
    passTime(70);
    const again = await agent.take(endpointId, workerId);
    expect(again).toMatchObject({ id: job.id, attempt: 2, input: "first" });
    await agent.complete(endpointId, again, "new");
    expect(await get(`status/${job.id}`)).toMatchObject({
      status: "COMPLETED",
      output: "new",
      delayTime: 70,
      retries: 1,
    });
  });

  test("a timed-out job can be retried", async ({ expect }) => {
    const { endpointId, job, post } = await readyEndpoint();
    passTime(600_001);
    await fireAlarm(endpointId);
    expect((await post(`retry/${job.id}`)).status).toBe(200);
  });

  test("rejects a job that has not failed, with its state", async ({ expect }) => {
    const { endpointId, agent, job, run, post } = await readyEndpoint();
    const queued = await run(1);
    expect(await post(`retry/${queued}`)).toMatchObject({
      status: 409,
      body: { code: "job_not_retryable", error: expect.stringContaining("IN_QUEUE") },
    });
    expect((await post(`retry/${job.id}`)).body).toMatchObject({
      error: expect.stringContaining("IN_PROGRESS"),
    });
    await agent.complete(endpointId, job, 1);
    expect((await post(`retry/${job.id}`)).body).toMatchObject({
      error: expect.stringContaining("COMPLETED"),
    });
    await post(`cancel/${queued}`);
    expect((await post(`retry/${queued}`)).body).toMatchObject({
      error: expect.stringContaining("CANCELLED"),
    });
    expect(await post("retry/nothing")).toMatchObject({ status: 404, body: { code: "job_not_found" } });
  });
});

describe("purge-queue", () => {
  test("cancels queued jobs of both priorities, first attempts and later ones, and nothing else", async ({
    expect,
  }) => {
    const { endpointId, agent, workerId, job, run, post, get } = await readyEndpoint();
    await agent.report(endpointId, { kind: "lost", jobId: job.id, attempt: 1, workerId, reason: "gone." });
    const running = await agent.take(endpointId, workerId);
    expect(running.id).toBe(job.id);
    const normal = await run("normal");
    const low = await run("low", { lowPriority: true });
    expect((await post("purge-queue")).body).toEqual({ removed: 2, status: "completed" });
    for (const id of [normal, low])
      expect(await get(`status/${id}`)).toMatchObject({ id, status: "CANCELLED" });
    expect(await get(`status/${job.id}`)).toMatchObject({ status: "IN_PROGRESS" });
    expect((await get("health"))["jobs"]).toMatchObject({ inQueue: 0, inProgress: 1 });
    expect(await agent.complete(endpointId, running, 1)).toBe("accepted");

    const after = await run("after");
    expect(await agent.take(endpointId, workerId)).toMatchObject({ id: after });
  });

  test("requeued jobs are purged too", async ({ expect }) => {
    const { endpointId, agent, workerId, job, post, get } = await readyEndpoint();
    await agent.report(endpointId, { kind: "lost", jobId: job.id, attempt: 1, workerId, reason: "gone." });
    expect((await post("purge-queue")).body).toEqual({ removed: 1, status: "completed" });
    expect(await get(`status/${job.id}`)).toMatchObject({ status: "CANCELLED" });
  });

  test("outlasts an eviction, and the rows are removed when their retention is over", async ({ expect }) => {
    const { endpointId, agent, job, run, post, get } = await readyEndpoint();
    await agent.complete(endpointId, job, 1);
    const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => run(n)));
    await post("purge-queue");
    await evict(endpointId);
    expect(await get(`status/${ids[7] ?? ""}`)).toMatchObject({ status: "CANCELLED" });
    expect(await post(`cancel/${ids[8] ?? ""}`)).toMatchObject({ body: { status: "CANCELLED" } });
    passTime(30 * 60_000);
    expect(await get(`status/${ids[7] ?? ""}`)).toMatchObject({ code: "job_not_found" });
    await evict(endpointId); // also when the sweep must restore the purge
    passTime(20_000);
    await fireAlarm(endpointId);
    expect(await rowCount(endpointId)).toBe(0);
    expect(await get("requests")).toMatchObject({ total: 0, requests: [] });
  });

  test("costs the same few rows whatever it purges, and notifies waiters", async ({ expect }) => {
    const { endpointId, run, post } = await readyEndpoint();
    await Promise.all(Array.from({ length: 150 }, (_, n) => run(n)));
    const waiting = call("POST", `/v2/${endpointId}/runsync`, { input: 1 });
    await vi.waitUntil(
      async () =>
        ((await call("GET", `/v2/${endpointId}/health`)).body["jobs"] as { inQueue: number }).inQueue === 151,
    );
    const before = (await endpointObject(endpointId).vitals()).rowsWritten;
    expect((await post("purge-queue")).body).toMatchObject({ removed: 151 });
    expect((await endpointObject(endpointId).vitals()).rowsWritten - before).toBeLessThanOrEqual(3);
    expect((await waiting).body).toMatchObject({ status: "CANCELLED" });
  });
});

describe("requests", () => {
  test("lists the newest jobs first, in pages, with all members of each", async ({ expect }) => {
    const { endpointId, agent, first, job, run, get } = await readyEndpoint();
    passTime(10);
    await agent.complete(endpointId, job, 1);
    passTime(10);
    const low = await run("low", { lowPriority: true });
    passTime(10);
    const normal = await run("normal");

    const page = await get("requests?limit=2");
    expect(page).toMatchObject({ total: 3, offset: 0, limit: 2, hasMore: true });
    expect((page["requests"] as { id: string }[]).map(({ id }) => id)).toEqual([normal, low]);
    const next = await get("requests?limit=2&offset=2");
    expect(next).toEqual({
      total: 3,
      offset: 2,
      limit: 2,
      hasMore: false,
      requests: [
        {
          id: first,
          status: "COMPLETED",
          createdAt: expect.any(Number),
          startedAt: expect.any(Number),
          completedAt: expect.any(Number),
          delayTime: expect.any(Number),
          executionTime: 10,
          workerId: job.workerId,
        },
      ],
    });
  });

  test("filters by status", async ({ expect }) => {
    const { run, post, get, first } = await readyEndpoint();
    const queued = await run(1);
    const cancelled = await run(2);
    await post(`cancel/${cancelled}`);
    for (const [status, id] of [
      ["IN_QUEUE", queued],
      ["CANCELLED", cancelled],
      ["IN_PROGRESS", first],
    ]) {
      expect(await get(`requests?status=${String(status)}`)).toMatchObject({
        total: 1,
        requests: [{ id, status }],
      });
    }
    expect(await get("requests?status=FAILED")).toMatchObject({ total: 0, requests: [], hasMore: false });
  });

  test.for([
    ["status=DONE", /^status: must be one of IN_QUEUE/],
    ["limit=0", /^limit: must be at least 1/],
    ["limit=501", /^limit: must be at most 500/],
    ["offset=-1", /^offset: must be 0 or more/],
  ] as const)("refuses %s", async ([query, message], { expect }) => {
    const endpointId = await createEndpoint();
    const reply = await call("GET", `/v2/${endpointId}/requests?${query}`);
    expect(reply).toMatchObject({
      status: 400,
      body: { code: "invalid_input", error: expect.stringMatching(message) },
    });
  });
});

async function rowCount(endpointId: string): Promise<number> {
  const { runInDurableObject } = await import("cloudflare:test");
  return runInDurableObject(
    endpointObject(endpointId),
    (_, state) => state.storage.sql.exec<{ count: number }>("SELECT count(*) AS count FROM job").one().count,
  );
}
