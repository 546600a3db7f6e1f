/** Policies of a job: how long it may run, how long it lives, how long its result is kept, and its secrets. */
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { channelOf, endpointObject, evict, fireAlarm, passTime } from "./object.ts";
import { issueAt } from "./message-facts.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, openEvents, signInAsNewAccount } = api;

const DAY = 86_400_000;
const MINUTE = 60_000;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const get = (path: string) => call("GET", `/v2/${path}`);
const post = (path: string, body?: unknown) => call("POST", `/v2/${path}`, body);

async function startedJob(policy: object = {}, operation = "run") {
  const endpointId = await createEndpoint("idleTimeout: 3600");
  const submitted = post(`${endpointId}/${operation}`, { input: 1, policy });
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const job = await agent.take(endpointId, workerId);
  const ref = { jobId: job.id, attempt: job.attempt, workerId };
  const statusOf = async () => (await get(`${endpointId}/status/${job.id}`)).body;
  return { endpointId, agent, workerId, job, ref, submitted, statusOf };
}

describe("executionTimeout", () => {
  async function timeoutOf(settings: string, policy: object = {}): Promise<number> {
    const endpointId = await createEndpoint(settings);
    await post(`${endpointId}/run`, { input: 1, policy });
    const agent = await ScriptedAgent.join(api);
    return (await agent.take(endpointId, await agent.bringUpWorker(endpointId))).executionTimeoutMs;
  }

  test.for([
    ["nothing is said", "workersMax: 1", {}, 600_000],
    ["the endpoint says 0, as some clients do for nothing", "executionTimeoutMs: 0", {}, 600_000],
    ["the endpoint says null", "executionTimeoutMs: null", {}, 600_000],
    ["the endpoint says so", "executionTimeoutMs: 7000", {}, 7_000],
    ["the job says so", "workersMax: 1", { executionTimeout: 5_000 }, 5_000],
    ["the job overrides the endpoint", "executionTimeoutMs: 7000", { executionTimeout: 7 * DAY }, 7 * DAY],
    ["the job says null", "executionTimeoutMs: 7000", { executionTimeout: null }, 7_000],
  ] as const)("when %s", async ([, settings, policy, expected], { expect }) => {
    expect(await timeoutOf(settings, policy)).toBe(expected);
  });

  test("a changed default holds for the next job, and an override for its own job only", async ({
    expect,
  }) => {
    const { endpointId, agent, workerId, job, ref } = await startedJob({ executionTimeout: 9_000 });
    expect(job.executionTimeoutMs).toBe(9_000);
    await agent.report(endpointId, { kind: "failed", ...ref, error: "bad" });
    await graphql(
      `mutation { saveEndpoint(input: { id: "${endpointId}", name: "x", gpuIds: "AMPERE_16", executionTimeoutMs: 8000 }) { id } }`,
    );
    await post(`${endpointId}/retry/${job.id}`);
    await post(`${endpointId}/run`, { input: 2 });
    const [again, next] = [await agent.take(endpointId, workerId), await agent.take(endpointId, workerId)];
    expect([again.executionTimeoutMs, next.executionTimeoutMs]).toEqual([9_000, 8_000]);
  });

  test("counts from the moment a worker took the job, and restarts with each attempt", async ({ expect }) => {
    const endpointId = await createEndpoint("idleTimeout: 3600");
    const { body } = await post(`${endpointId}/run`, { input: 1, policy: { executionTimeout: 5_000 } });
    passTime(10 * MINUTE);
    const agent = await ScriptedAgent.join(api);
    const workerId = await agent.bringUpWorker(endpointId);
    const job = await agent.take(endpointId, workerId);
    passTime(4_999);
    await fireAlarm(endpointId);
    const status = () => get(`${endpointId}/status/${String(body["id"])}`);
    expect((await status()).body).toMatchObject({ status: "IN_PROGRESS" });
    await agent.report(endpointId, { kind: "lost", jobId: job.id, attempt: 1, workerId, reason: "gone." });
    await agent.take(endpointId, workerId);
    passTime(4_999);
    await fireAlarm(endpointId);
    expect((await status()).body).toMatchObject({ status: "IN_PROGRESS" });
    passTime(1);
    await fireAlarm(endpointId);
    expect((await status()).body).toMatchObject({
      status: "TIMED_OUT",
      error: "executionTimeout exceeded",
      executionTime: 5_000,
    });
  });
});

describe("ttl", () => {
  test("is a day when nothing is said, counted from the submission", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMax: 0");
    const { body } = await post(`${endpointId}/run`, { input: 1 });
    passTime(DAY - 1);
    expect((await get(`${endpointId}/status/${String(body["id"])}`)).status).toBe(200);
    passTime(1);
    expect((await get(`${endpointId}/status/${String(body["id"])}`)).status).toBe(404);
  });

  test("is not prolonged by a retry or a lost worker", async ({ expect }) => {
    const { endpointId, agent, workerId, job, ref, statusOf } = await startedJob({ ttl: 20_000 });
    passTime(6_000);
    await agent.report(endpointId, { kind: "lost", ...ref, reason: "gone." });
    await agent.take(endpointId, workerId);
    passTime(6_000);
    await agent.report(endpointId, { kind: "failed", ...ref, attempt: 2, error: "bad" });
    await post(`${endpointId}/retry/${job.id}`);
    passTime(7_999);
    expect(await statusOf()).toMatchObject({ status: "IN_QUEUE" });
    passTime(1);
    expect(await statusOf()).toMatchObject({ code: "job_not_found" });
    expect(await post(`${endpointId}/retry/${job.id}`)).toMatchObject({ status: 404 });
  });

  test("ends also what has a result, before its retention is over", async ({ expect }) => {
    const { endpointId, agent, job, statusOf } = await startedJob({ ttl: 10_000 });
    await agent.complete(endpointId, job, 1);
    passTime(9_999);
    expect(await statusOf()).toMatchObject({ status: "COMPLETED" });
    passTime(1);
    expect(await statusOf()).toMatchObject({ code: "job_not_found" });
  });

  test("stops the handler at once: an agent that waits is rung by the alarm that is set for it", async ({
    expect,
  }) => {
    const { endpointId, agent, job, ref, statusOf } = await startedJob({ ttl: 10_000 });
    const waiting = agent.exchange(endpointId, { held: [ref], holdMs: 30_000 });
    await channelOf(endpointId, "agent");
    passTime(10_000);
    expect(await alarmAt(endpointId)).toBeLessThanOrEqual(Date.now());
    await fireAlarm(endpointId);
    expect((await waiting).stops).toEqual([{ jobId: job.id, attempt: 1, reason: "expired" }]);
    expect(await statusOf()).toMatchObject({ code: "job_not_found" });
    expect(await agent.complete(endpointId, job, "late")).toBe("refused");
  });

  test("answers a client that waits for the job with 404", async ({ expect }) => {
    const { endpointId, job } = await startedJob({ ttl: 10_000 });
    const waiting = get(`${endpointId}/status/${job.id}?wait=60000`);
    await channelOf(endpointId, "job");
    passTime(10_000);
    await fireAlarm(endpointId);
    expect(await waiting).toMatchObject({ status: 404, body: { code: "job_not_found" } });
  });
});

async function alarmAt(endpointId: string): Promise<number> {
  const { runInDurableObject } = await import("cloudflare:test");
  const at = await runInDurableObject(endpointObject(endpointId), (_, { storage }) => storage.getAlarm());
  return at ?? Number.POSITIVE_INFINITY;
}

describe("status?ttl=", () => {
  test.for(["GET", "POST"])(
    "%s sets the life that is left, also after an eviction",
    async (method, { expect }) => {
      const { endpointId, job, statusOf } = await startedJob();
      const reply = await call(method, `/v2/${endpointId}/status/${job.id}?ttl=10000`);
      expect(reply).toMatchObject({ status: 200, body: { status: "IN_PROGRESS" } });
      expect(reply.headers.get("RateLimit")).toMatch(/^"status";r=1999;/);
      await evict(endpointId);
      passTime(9_999);
      expect(await statusOf()).toMatchObject({ status: "IN_PROGRESS" });
      passTime(1);
      expect(await statusOf()).toMatchObject({ code: "job_not_found" });
    },
  );

  test("can prolong a life, but never beyond seven days from the submission", async ({ expect }) => {
    const { endpointId, job, statusOf } = await startedJob({ ttl: 10_000, executionTimeout: 7 * DAY });
    await get(`${endpointId}/status/${job.id}?ttl=${3 * DAY}`);
    passTime(3 * DAY - 1);
    expect(await statusOf()).toMatchObject({ status: "IN_PROGRESS" });
    await get(`${endpointId}/status/${job.id}?ttl=${7 * DAY}`);
    passTime(4 * DAY);
    expect(await statusOf()).toMatchObject({ status: "IN_PROGRESS" });
    passTime(1);
    expect(await statusOf()).toMatchObject({ code: "job_not_found" });
  });

  test("stops a running handler when the new life is over", async ({ expect }) => {
    const { endpointId, agent, job, ref } = await startedJob();
    await get(`${endpointId}/status/${job.id}?ttl=10000`);
    passTime(10_000);
    expect(await alarmAt(endpointId)).toBeLessThanOrEqual(Date.now());
    await fireAlarm(endpointId);
    const { stops } = await agent.exchange(endpointId, { held: [ref] });
    expect(stops).toEqual([{ jobId: job.id, attempt: 1, reason: "expired" }]);
  });

  test("makes no result stay longer than its retention", async ({ expect }) => {
    const { endpointId, agent, job, statusOf } = await startedJob();
    await agent.complete(endpointId, job, 1);
    await get(`${endpointId}/status/${job.id}?ttl=${DAY}`);
    passTime(30 * MINUTE);
    expect(await statusOf()).toMatchObject({ code: "job_not_found" });
  });

  test("brings no job back, waits when asked to, and names what is wrong", async ({ expect }) => {
    const { endpointId, agent, job } = await startedJob({ ttl: 10_000 });
    const waiting = get(`${endpointId}/status/${job.id}?ttl=60000&wait=60000`);
    await channelOf(endpointId, "job");
    await agent.complete(endpointId, job, "done");
    expect((await waiting).body).toMatchObject({ status: "COMPLETED", output: "done" });
    passTime(60_000);
    expect(await get(`${endpointId}/status/${job.id}?ttl=60000`)).toMatchObject({ status: 404 });
    for (const [ttl, message] of [
      ["9999", issueAt("ttl", 10_000)],
      ["604800001", issueAt("ttl", 604_800_000)],
      ["1h", issueAt("ttl")],
    ] as const) {
      const refused = await get(`${endpointId}/status/${job.id}?ttl=${ttl}`);
      expect(refused).toMatchObject({ status: 400, body: { error: expect.stringMatching(message) } });
    }
  });
});

describe("a result is kept", () => {
  test.for([
    ["run", 30 * MINUTE],
    ["run?wait=300000", 30 * MINUTE],
    ["runsync", MINUTE],
    ["runsync?wait=1000", MINUTE],
    ["runsync?wait=90000", 90_000],
    ["runsync?wait=300000", 5 * MINUTE],
  ] as const)("of %s %d ms", async ([operation, retentionMs], { expect }) => {
    const { endpointId, agent, job, submitted, statusOf } = await startedJob({}, operation);
    await evict(endpointId);
    await agent.complete(endpointId, job, 1);
    await submitted;
    passTime(retentionMs - 1);
    expect(await statusOf()).toMatchObject({ status: "COMPLETED" });
    passTime(1);
    expect(await statusOf()).toMatchObject({ code: "job_not_found" });
  });
});

describe("s3Config", () => {
  const MARKER = "k7f3a";
  const s3Config = {
    accessId: `id-${MARKER}`,
    accessSecret: MARKER,
    bucketName: `bucket-${MARKER}`,
    endpointUrl: `https://${MARKER}.example`,
    objectPath: `path-${MARKER}`,
  };

  test("reaches the worker, and nothing else ever shows it", async ({ expect }) => {
    const logged: unknown[] = [];
    for (const level of ["log", "info", "warn", "error", "debug"] as const) {
      vi.spyOn(console, level).mockImplementation((...values) => void logged.push(...values));
    }
    const replies: unknown[] = [];
    const ask = async (method: string, path: string, body?: unknown) => {
      const reply = await call(method, path, body);
      replies.push(reply.body, [...reply.headers]);
      return reply.body;
    };
    const endpointId = await createEndpoint("idleTimeout: 3600");
    const base = `/v2/${endpointId}`;
    const lookAround = async (jobId: string) => {
      const ofJob = [`status/${jobId}`, `status/${jobId}?timeline=1`];
      for (const path of [...ofJob, "requests", "health", "metrics"]) await ask("GET", `${base}/${path}`);
    };

    const { id } = await ask("POST", `${base}/run`, { input: { a: 1 }, s3Config });
    const jobId = String(id);
    await lookAround(jobId); // queued
    const agent = await ScriptedAgent.join(api);
    const workerId = await agent.bringUpWorker(endpointId);
    const job = await agent.take(endpointId, workerId);
    expect(job.s3Config).toEqual(s3Config);
    await lookAround(jobId); // running
    const ref = { jobId, attempt: 1, workerId };
    await agent.report(endpointId, { kind: "failed", ...ref, error: "no such bucket" });
    await lookAround(jobId); // failed
    await ask("GET", `${base}/stream/${jobId}`);
    await using events = await openEvents(`${base}/stream/${jobId}`);
    await events.comment();
    replies.push(await events.next());
    await ask("POST", `${base}/retry/${jobId}`);
    expect((await agent.take(endpointId, workerId)).s3Config).toEqual(s3Config);
    await ask("POST", `${base}/cancel/${jobId}`);
    await lookAround(jobId); // cancelled
    await ask("POST", `${base}/purge-queue`);

    const { accessSecret } = s3Config;
    for (const body of [
      { input: 1, s3Config: accessSecret },
      { input: 1, s3Config: { ...s3Config, accessId: [accessSecret] } },
      { input: 1, s3Config: { ...s3Config, accessSecret: { [accessSecret]: accessSecret } } },
      { input: 1, s3Config: { ...s3Config, bucketName: accessSecret.repeat(1_000) } },
      { s3Config },
      { input: 1, s3Config, policy: { ttl: accessSecret } },
      { input: 1, s3Config, webhook: `ftp://${accessSecret}` },
      `{"input":1,"s3Config":{"accessSecret":"${accessSecret}"x`,
      `{"s3Config":{"accessSecret":${accessSecret}}}`,
      `"${accessSecret}`,
      accessSecret,
    ]) {
      for (const operation of ["run", "runsync?wait=1000"]) {
        expect(await ask("POST", `${base}/${operation}`, body)).toMatchObject({ code: "invalid_input" });
      }
    }
    expect(JSON.stringify(replies)).toContain(jobId);
    expect(JSON.stringify(replies)).not.toContain(MARKER);
    expect(JSON.stringify(logged)).not.toContain(MARKER);
    vi.restoreAllMocks();
  });

  test("goes with its job", async ({ expect }) => {
    const { runInDurableObject } = await import("cloudflare:test");
    const endpointId = await createEndpoint("workersMax: 0");
    await post(`${endpointId}/run`, { input: 1, s3Config, policy: { ttl: 10_000 } });
    passTime(20_000);
    await fireAlarm(endpointId);
    const rows = await runInDurableObject(endpointObject(endpointId), (_, { storage }) =>
      ["job", "fact"].map((table) => storage.sql.exec(`SELECT * FROM ${table}`).toArray()),
    );
    expect(JSON.stringify(rows)).not.toContain(MARKER);
  });
});
