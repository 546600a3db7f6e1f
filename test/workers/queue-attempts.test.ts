import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { DispatchedJob } from "../../src/contract/agent/agent.ts";
import { LEASE_MS } from "../../src/endpoint/queue/queue.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { endpointObject, evict, fireAlarm, passTime, untilHeld } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

async function startedJob(policy: object = {}): Promise<Started> {
  const endpointId = await createEndpoint();
  const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1, policy });
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const job = await agent.take(endpointId, workerId);
  const status = async () => (await call("GET", `/v2/${endpointId}/status/${String(body["id"])}`)).body;
  const take = () => agent.take(endpointId, workerId);
  return { endpointId, agent, workerId, job, status, take };
}
type Started = {
  endpointId: string;
  agent: ScriptedAgent;
  workerId: string;
  job: DispatchedJob;
  status: () => Promise<Record<string, unknown>>;
  take: () => Promise<DispatchedJob>;
};

const refOf = (job: DispatchedJob) => ({ jobId: job.id, attempt: job.attempt, workerId: job.workerId });

describe("attempts", () => {
  test("times are those of the object's clock, to the millisecond", async ({ expect }) => {
    const endpointId = await createEndpoint();
    const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const agent = await ScriptedAgent.join(api);
    const workerId = await agent.bringUpWorker(endpointId);
    passTime(812);
    const job = await agent.take(endpointId, workerId);
    passTime(2_303);
    await agent.complete(endpointId, job, 1);
    const done = await call("GET", `/v2/${endpointId}/status/${String(body["id"])}`);
    expect(done.body).toMatchObject({ delayTime: 812, executionTime: 2_303 });
  });

  test.for(["a\ud800b", "\udc00", "\uffff", '\uffff"\ud800', "\ud83d\ude00é\u0000\n"])(
    "the error %j is reported as the worker wrote it",
    async (error, { expect }) => {
      const { endpointId, agent, job, status } = await startedJob();
      await agent.report(endpointId, { kind: "failed", ...refOf(job), error });
      // As JSON: a failure that holds a lone surrogate could not be reported.
      const reported = async () => JSON.stringify((await status())["error"]);
      expect(await reported()).toBe(JSON.stringify(error));
      await evict(endpointId);
      expect(await reported()).toBe(JSON.stringify(error));
    },
  );

  test("a lost worker's job is dispatched once more, then it fails with the reason", async ({ expect }) => {
    const { endpointId, agent, job, status, take } = await startedJob();
    await agent.report(endpointId, { kind: "lost", ...refOf(job), reason: "exited with code 1." });
    expect(await status()).toMatchObject({ status: "IN_QUEUE", retries: 1 });
    const second = await take();
    expect(second).toMatchObject({ id: job.id, attempt: 2 });
    await agent.report(endpointId, { kind: "lost", ...refOf(second), reason: "exited with code 1." });
    expect(await status()).toMatchObject({
      status: "FAILED",
      retries: 1,
      error: expect.stringMatching(/lost 2 times.*exited with code 1/),
    });
  });

  test("a result of a replaced attempt is rejected, and the job completes once", async ({ expect }) => {
    const { endpointId, agent, job, status, take } = await startedJob();
    await agent.report(endpointId, { kind: "lost", ...refOf(job), reason: "gone." });
    const second = await take();
    expect(await agent.complete(endpointId, job, "late")).toBe("refused");
    expect(await agent.complete(endpointId, second, "good")).toBe("accepted");
    expect(await agent.complete(endpointId, second, "again")).toBe("refused");
    expect(await status()).toMatchObject({ status: "COMPLETED", output: "good" });
  });

  test("a host cannot report jobs that are not leased to it", async ({ expect }) => {
    const { endpointId, job, status } = await startedJob();
    const stranger = await ScriptedAgent.join(api, "stranger");
    expect(await stranger.complete(endpointId, job, "forged")).toBe("refused");
    expect(await status()).toMatchObject({ status: "IN_PROGRESS" });
  });

  test("an undelivered job is queued again at the agent's next call, and does not count as lost", async ({
    expect,
  }) => {
    const { endpointId, agent, workerId, status } = await startedJob();
    // The reply with the job was lost: the agent's next call does not list it.
    const { jobs } = await agent.exchange(endpointId, { held: [], slots: [{ workerId, free: 1 }] });
    expect(jobs).toMatchObject([{ attempt: 2 }]);
    expect(await status()).not.toHaveProperty("retries");
  });

  test("a job that is queued again is not passed over after a loss of memory", async ({ expect }) => {
    const { endpointId, agent, workerId, status } = await startedJob();
    await agent.exchange(endpointId, { held: [] });
    expect(await status()).toMatchObject({ status: "IN_QUEUE" });
    await evict(endpointId);
    const { body } = await call("GET", `/v2/${endpointId}/health`);
    expect(body["jobs"]).toMatchObject({ inQueue: 1, inProgress: 0 });
    const { jobs } = await agent.exchange(endpointId, { held: [], slots: [{ workerId, free: 1 }] });
    expect(jobs).toMatchObject([{ attempt: 2 }]);
  });

  test("a job in a reply that is still open is on its way, not lost", async ({ expect }) => {
    const { endpointId, agent, status } = await startedJob();
    await agent.exchange(endpointId, { held: [], openTurns: [1] });
    expect(await status()).toMatchObject({ status: "IN_PROGRESS" });
  });

  describe("of jobs that are queued again and claimed in one turn", () => {
    test("take a slot of the same worker until they arrive", async ({ expect }) => {
      const { endpointId, agent, workerId, status } = await startedJob();
      await call("POST", `/v2/${endpointId}/run`, { input: 2 });
      const slots = [{ workerId, free: 1 }];
      const lost = await agent.exchange(endpointId, { held: [], slots });
      expect(lost.jobs).toMatchObject([{ attempt: 2 }]);
      const onItsWay = await agent.exchange(endpointId, { held: [], slots, openTurns: [2] });
      expect(onItsWay.jobs).toEqual([]);
      expect(await status()).toMatchObject({ status: "IN_PROGRESS" });
    });

    test("are queued once more when the reply with them is lost, whatever other reply is open", async ({
      expect,
    }) => {
      const { endpointId, agent, workerId, job } = await startedJob();
      const slots = [{ workerId, free: 1 }];
      await agent.exchange(endpointId, { held: [], slots });
      const { jobs } = await agent.exchange(endpointId, { held: [], slots, openTurns: [1] });
      expect(jobs).toMatchObject([{ id: job.id, attempt: 3 }]);
    });

    test("take a slot of the call that waited for them until they arrive", async ({ expect }) => {
      const { endpointId, agent, workerId, job, status } = await startedJob();
      const slots = [{ workerId, free: 1 }];
      const waiting = agent.exchange(endpointId, { slots, holdMs: 10_000 });
      await untilHeld(endpointId);
      await agent.report(endpointId, { kind: "lost", ...refOf(job), reason: "gone." });
      expect((await waiting).jobs).toMatchObject([{ id: job.id, attempt: 2 }]);
      await call("POST", `/v2/${endpointId}/run`, { input: 2 });
      const onItsWay = await agent.exchange(endpointId, { held: [], slots, openTurns: [2] });
      expect(onItsWay.jobs).toEqual([]);
      expect(await status()).toMatchObject({ status: "IN_PROGRESS" });
    });
  });

  test("a call that a newer one has overtaken returns no job to the queue", async ({ expect }) => {
    const { endpointId, agent, status } = await startedJob();
    await agent.exchange(endpointId, { turn: 7 });
    await agent.exchange(endpointId, { turn: 2, held: [] });
    expect(await status()).toMatchObject({ status: "IN_PROGRESS" });
  });

  test("a slot is not filled again while a job is on its way to it", async ({ expect }) => {
    const { endpointId, agent, workerId } = await startedJob();
    await call("POST", `/v2/${endpointId}/run`, { input: 2 });
    const { jobs } = await agent.exchange(endpointId, {
      held: [],
      openTurns: [1],
      slots: [{ workerId, free: 1 }],
    });
    expect(jobs).toEqual([]);
  });

  test("the jobs of an agent that restarts without them are queued again", async ({ expect }) => {
    const { endpointId, agent, status } = await startedJob();
    await agent.exchange(endpointId, { session: "another-session", turn: 1, held: [] });
    expect(await status()).toMatchObject({ status: "IN_QUEUE" });
  });

  test("a call of the agent before that comes late returns no job to the queue, and gets none", async ({
    expect,
  }) => {
    const { endpointId, agent, workerId, job, status } = await startedJob();
    const before = { session: "before", turn: 9, held: [], slots: [{ workerId, free: 1 }] };
    await agent.exchange(endpointId, { previousSession: before.session, slots: [{ workerId, free: 0 }] });
    await call("POST", `/v2/${endpointId}/run`, { input: "second" });
    expect(await agent.exchange(endpointId, { ...before, openTurns: [] })).toMatchObject({
      jobs: [],
      stops: [],
    });
    expect(await status()).toMatchObject({ status: "IN_PROGRESS" });
    expect(await agent.report(endpointId, { kind: "completed", ...refOf(job), output: 1 })).toBe("accepted");
  });

  test("what a restarted agent has lost is not given to a call of the agent before", async ({ expect }) => {
    const { endpointId, agent, workerId, job, status } = await startedJob();
    const before = agent.exchange(endpointId, { slots: [{ workerId, free: 1 }], holdMs: 10_000 });
    await untilHeld(endpointId);
    const lost = { kind: "lost" as const, ...refOf(job), reason: "gone." };
    await agent.exchange(endpointId, {
      session: "another-session",
      turn: 1,
      openTurns: [],
      held: [],
      reports: [lost],
    });
    expect((await before).jobs).toEqual([]);
    expect(await status()).toMatchObject({ status: "IN_QUEUE", retries: 1 });
  });

  test("a running job keeps its lease as long as its agent lists it, also over an eviction", async ({
    expect,
  }) => {
    const { endpointId, agent, job, status } = await startedJob({ executionTimeout: 3_600_000 });
    for (let round = 0; round < 4; round += 1) {
      passTime(LEASE_MS / 2);
      if (round === 2) await evict(endpointId);
      await agent.exchange(endpointId, { held: [refOf(job)] });
      await fireAlarm(endpointId);
    }
    expect(await status()).toMatchObject({ status: "IN_PROGRESS" });
    passTime(LEASE_MS + 1);
    await fireAlarm(endpointId);
    expect(await status()).toMatchObject({ status: "IN_QUEUE", retries: 1 });
  });

  test("a failure keeps its text, and output beside it", async ({ expect }) => {
    const { endpointId, agent, job, status } = await startedJob();
    await agent.report(endpointId, {
      kind: "failed",
      ...refOf(job),
      error: "no such model",
      output: { part: 1 },
    });
    expect(await status()).toMatchObject({ status: "FAILED", error: "no such model", output: { part: 1 } });
  });

  test("progress shows while the job runs, and a late one changes nothing", async ({ expect }) => {
    const { endpointId, agent, job, status } = await startedJob();
    await agent.exchange(endpointId, { held: [{ ...refOf(job), progress: "half" }] });
    expect(await status()).toMatchObject({ status: "IN_PROGRESS", output: "half" });
    await agent.complete(endpointId, job, "all");
    const late = await agent.exchange(endpointId, { held: [{ ...refOf(job), progress: "late" }] });
    expect(late.stops).toEqual([]); // its report is acknowledged already
    expect(await status()).toMatchObject({ status: "COMPLETED", output: "all" });
  });
});

describe("deadlines", () => {
  test("a job that failed as its host was silent too often is stopped there", async ({ expect }) => {
    const { endpointId, agent, take } = await startedJob();
    passTime(LEASE_MS + 1);
    await fireAlarm(endpointId);
    const second = await take();
    passTime(LEASE_MS + 1);
    await fireAlarm(endpointId);
    const { stops } = await agent.exchange(endpointId, { held: [refOf(second)] });
    expect(stops).toEqual([{ jobId: second.id, attempt: 2, reason: "lease_lost" }]);
  });

  test("executionTimeout ends the job and stops its handler", async ({ expect }) => {
    const { endpointId, agent, job, status } = await startedJob({ executionTimeout: 5_000 });
    passTime(5_001);
    await fireAlarm(endpointId);
    expect(await status()).toMatchObject({ status: "TIMED_OUT", error: "executionTimeout exceeded" });
    const { stops } = await agent.exchange(endpointId, { held: [refOf(job)] });
    expect(stops).toEqual([{ jobId: job.id, attempt: 1, reason: "timed_out" }]);
    expect(await agent.complete(endpointId, job, 1)).toBe("refused");
  });

  test("a result after the cancellation is rejected, and the job stays cancelled", async ({ expect }) => {
    const { endpointId, agent, job, status } = await startedJob();
    await call("POST", `/v2/${endpointId}/cancel/${job.id}`);
    expect(await agent.complete(endpointId, job, "too late")).toBe("refused");
    expect(await status()).toMatchObject({ status: "CANCELLED" });
    expect(await status()).not.toHaveProperty("output");
  });

  test("cancel of a running job reaches an agent that waits", async ({ expect }) => {
    const { endpointId, agent, job } = await startedJob();
    const waiting = agent.exchange(endpointId, { holdMs: 10_000 });
    await call("POST", `/v2/${endpointId}/cancel/${job.id}`);
    expect((await waiting).stops).toEqual([{ jobId: job.id, attempt: 1, reason: "cancelled" }]);
  });

  test("ttl deletes the job in any state, and its handler is stopped", async ({ expect }) => {
    const { endpointId, agent, job, status } = await startedJob({ ttl: 10_000 });
    const queued = await call("POST", `/v2/${endpointId}/run`, { input: 1, policy: { ttl: 10_000 } });
    passTime(10_001);
    expect(await status()).toMatchObject({ code: "job_not_found" });
    await fireAlarm(endpointId);
    const { stops } = await agent.exchange(endpointId, { held: [refOf(job)] });
    expect(stops).toEqual([{ jobId: job.id, attempt: 1, reason: "expired" }]);
    expect((await call("GET", `/v2/${endpointId}/status/${String(queued.body["id"])}`)).status).toBe(404);
    passTime(10_000);
    await fireAlarm(endpointId);
    expect((await call("GET", `/v2/${endpointId}/health`)).body["jobs"]).toMatchObject({
      inQueue: 0,
      inProgress: 0,
    });
  });

  test("an expired job is never dispatched", async ({ expect }) => {
    const { endpointId, agent, workerId, job } = await startedJob();
    await agent.complete(endpointId, job, 1);
    await call("POST", `/v2/${endpointId}/run`, { input: "old", policy: { ttl: 10_000 } });
    passTime(10_001);
    await call("POST", `/v2/${endpointId}/run`, { input: "new" });
    expect((await agent.take(endpointId, workerId)).input).toBe("new");
  });

  test.for([
    ["run", 30 * 60_000],
    ["runsync", 60_000],
  ] as const)(
    "results of %s are stored for %d ms, then the row is removed",
    async ([operation, retentionMs], { expect }) => {
      const endpointId = await createEndpoint();
      const agent = await ScriptedAgent.join(api);
      const submitted = call("POST", `/v2/${endpointId}/${operation}`, { input: 1 });
      const workerId = await agent.bringUpWorker(endpointId);
      const job = await agent.take(endpointId, workerId);
      await agent.complete(endpointId, job, 1);
      await submitted;
      passTime(retentionMs - 1);
      expect((await call("GET", `/v2/${endpointId}/status/${job.id}`)).status).toBe(200);
      passTime(1);
      expect((await call("GET", `/v2/${endpointId}/status/${job.id}`)).status).toBe(404);
      await evict(endpointId); // the sweep finds what is due without memory
      passTime(10_000);
      await fireAlarm(endpointId);
      const rows = await runSql(endpointId, "SELECT count(*) AS count FROM job");
      expect(rows).toEqual([{ count: 0 }]);
    },
  );
});

async function runSql(endpointId: string, text: string): Promise<unknown[]> {
  const { runInDurableObject } = await import("cloudflare:test");
  return runInDurableObject(endpointObject(endpointId), (_, state) => state.storage.sql.exec(text).toArray());
}

test("large inputs and results pass through R2 and are removed with their job", async ({ expect }) => {
  const { env } = await import("cloudflare:workers");
  const endpointId = await createEndpoint();
  const large = "é".repeat(400_000);
  const agent = await ScriptedAgent.join(api);
  const { body } = await call("POST", `/v2/${endpointId}/run`, { input: { large } });
  const workerId = await agent.bringUpWorker(endpointId);
  const job = await agent.take(endpointId, workerId);
  expect(job.input).toEqual({ large });
  await agent.complete(endpointId, job, { large });
  expect((await call("GET", `/v2/${endpointId}/status/${String(body["id"])}`)).body["output"]).toEqual({
    large,
  });
  expect((await env.PAYLOADS.list({ prefix: `jobs/${endpointId}/` })).objects).toHaveLength(2);
  passTime(31 * 60_000);
  await fireAlarm(endpointId);
  expect((await env.PAYLOADS.list({ prefix: `jobs/${endpointId}/` })).objects).toHaveLength(0);
});

test("a job whose large input is gone comes with an error, and never with another input", async ({
  expect,
}) => {
  const { env } = await import("cloudflare:workers");
  const endpointId = await createEndpoint();
  const agent = await ScriptedAgent.join(api);
  await call("POST", `/v2/${endpointId}/run`, { input: { large: "x".repeat(400_000) } });
  const { objects } = await env.PAYLOADS.list({ prefix: `jobs/${endpointId}/` });
  await env.PAYLOADS.delete(objects.map(({ key }) => key));
  const workerId = await agent.bringUpWorker(endpointId);
  const job = await agent.take(endpointId, workerId);
  expect(job.error).toMatch(/input/);
});
