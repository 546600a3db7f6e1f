/** The timeline of a job: what happened, in its order, in the time of the edge. */
import type { ColdStartView } from "../../src/contract/job.ts";
import type { RequestMetrics } from "../../src/contract/metrics.ts";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { DispatchedJob, WorkerReport } from "../../src/contract/agent/agent.ts";
import type { TimelineEvent } from "../../src/contract/job.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { endpointObject, evict, fireAlarm, passTime } from "./object.ts";
import { issueAt } from "./message-facts.ts";
import { notYet, until } from "./support/until.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const refOf = ({ id, attempt, workerId }: DispatchedJob) => ({ jobId: id, attempt, workerId });

async function queuedJob(policy: object = {}) {
  const endpointId = await createEndpoint("idleTimeout: 3600");
  const startedAt = Date.now();
  const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1, policy });
  const jobId = String(body["id"]);
  const agent = await ScriptedAgent.join(api);
  /** Each event with its time after the submission. */
  const timeline = async () => {
    const reply = await call("GET", `/v2/${endpointId}/status/${jobId}?timeline=1`);
    return (reply.body["timeline"] as TimelineEvent[]).map(({ at, ...event }) => ({
      at: at - startedAt,
      ...event,
    }));
  };
  return { endpointId, jobId, agent, timeline };
}

async function takenJob(policy: object = {}) {
  const queued = await queuedJob(policy);
  const { endpointId, agent } = queued;
  const workerId = await agent.bringUpWorker(endpointId);
  const job = await agent.take(endpointId, workerId);
  return { ...queued, workerId, job };
}

/** Resolves once the endpoint has heard of its workers' states. */
async function untilHeard(endpointId: string, name: string): Promise<void> {
  await until(async () => {
    const { body } = await call("GET", `/v2/${endpointId}/health`);
    return (body["workers"] as Record<string, number>)[name] === 1 || notYet(body["workers"]);
  }, `one worker is ${name}`);
}

describe("a timeline", () => {
  test("of a queued job holds its submission, and is absent unless requested", async ({ expect }) => {
    const { endpointId, jobId, timeline } = await queuedJob();
    expect(await timeline()).toEqual([{ event: "submitted", at: 0 }]);
    for (const query of ["", "?timeline=0", "?timeline="]) {
      const { body } = await call("GET", `/v2/${endpointId}/status/${jobId}${query}`);
      expect(body).not.toHaveProperty("timeline");
    }
    const refused = await call("GET", `/v2/${endpointId}/status/${jobId}?timeline=yes`);
    expect(refused).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(issueAt("timeline", 1, 0)) },
    });
  });

  test("covers a job that waited for a cold start", async ({ expect }) => {
    const { endpointId, jobId, agent, timeline } = await queuedJob();
    const { assignments, revision } = await agent.sync();
    const { workerId = "", revision: version = 0 } = assignments[0] ?? {};
    const says = (state: WorkerReport["state"], ago: WorkerReport["ago"]) =>
      agent.sync({
        appliedRevision: revision,
        workers: [{ workerId, endpointId, revision: version, state, ...(ago && { ago }) }],
      });
    passTime(1_000);
    await says("pulling", { pullStarted: 400 });
    passTime(9_000);
    await says("starting", { pullStarted: 9_400, pullEnded: 500, containerStarted: 100 });
    passTime(2_000);
    const began = { assigned: 11_900, pullStarted: 11_400, pullEnded: 2_500 };
    await says("ready", { ...began, containerStarted: 2_100, runtimeStarted: 500, ready: 0 });
    await untilHeard(endpointId, "ready");
    passTime(5);
    const job = await agent.take(endpointId, workerId);
    passTime(3_000);
    const held = [{ ...refOf(job), ago: { handlerStarted: 2_990, handlerFinished: 40 } }];
    const report = { kind: "completed" as const, ...refOf(job), output: 1 };
    await agent.exchange(endpointId, { held, reports: [report] });

    const expected = [
      { event: "submitted", at: 0 },
      { event: "worker_placed", at: 0, workerId },
      { event: "image_pull_started", at: 600, workerId },
      { event: "image_pull_ended", at: 9_500, workerId },
      { event: "container_started", at: 9_900, workerId },
      { event: "runtime_started", at: 11_500, workerId },
      { event: "worker_ready", at: 12_000, workerId },
      {
        event: "taken",
        at: 12_005,
        attempt: 1,
        workerId,
        hostId: agent.hostId,
        perHour: 0.016,
        startingMs: 12_000,
      },
      { event: "handler_started", at: 12_015, attempt: 1 },
      { event: "handler_finished", at: 14_965, attempt: 1 },
      { event: "finished", at: 15_005, status: "COMPLETED" },
    ];
    expect(await timeline()).toEqual(expected);
    const { body } = await call("GET", `/v2/${endpointId}/status/${jobId}?timeline=1`);
    const { advice, ...coldStart } = body["coldStart"] as ColdStartView;
    const parts = {
      placement: 600,
      image: 8_900,
      files: 0,
      model: 0,
      container: 400,
      runtime: 1_600,
      handler: 500,
    };
    expect(coldStart).toEqual({ totalMs: 12_000, parts, slowest: "image" });
    expect(advice).toContain("image");
    const metrics = await call("GET", `/v2/${endpointId}/metrics/requests?window=1h`);
    const { runtime, model } = (metrics.body as unknown as RequestMetrics).coldStartParts;
    expect([runtime.mean, runtime.count, model.count]).toEqual([1_600, 1, 0]);
    await evict(endpointId);
    expect(await timeline()).toEqual(expected);
  });

  test("shows of a cold start what ended after the submission, with its own times", async ({ expect }) => {
    const first = await takenJob();
    await first.agent.complete(first.endpointId, first.job, 1);
    const { workerId, endpointId, agent } = first;
    const report = { workerId, endpointId, revision: 1, state: "ready" as const };
    await agent.sync({ workers: [{ ...report, ago: { pullStarted: 9_000, pullEnded: 5_000, ready: 10 } }] });
    const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    await agent.take(endpointId, workerId);
    const { body: status } = await call("GET", `/v2/${endpointId}/status/${String(body["id"])}?timeline=1`);
    expect((status["timeline"] as TimelineEvent[]).map(({ event }) => event)).toEqual(["submitted", "taken"]);
  });

  test("of a running job shows what is known so far, even after an eviction", async ({ expect }) => {
    const { endpointId, agent, job, workerId, timeline } = await takenJob();
    const taken = { event: "taken", at: 0, attempt: 1, workerId, hostId: agent.hostId, perHour: 0.016 };
    expect(await timeline()).toEqual([{ event: "submitted", at: 0 }, taken]);
    passTime(100);
    const held = () => [{ ...refOf(job), ago: { handlerStarted: 60 } }];
    await agent.exchange(endpointId, { held: held() });
    const started = { event: "handler_started", at: 40, attempt: 1 };
    expect(await timeline()).toEqual([{ event: "submitted", at: 0 }, taken, started]);
    await evict(endpointId);
    await agent.exchange(endpointId, { held: held() });
    expect(await timeline()).toEqual([{ event: "submitted", at: 0 }, taken, started]);
  });

  test("has every attempt, and why a job was queued again", async ({ expect }) => {
    const { endpointId, jobId, agent, job, workerId, timeline } = await takenJob();
    const taken = (attempt: number, at: number) => ({
      event: "taken",
      at,
      attempt,
      workerId,
      hostId: agent.hostId,
      perHour: 0.016,
    });
    passTime(10);
    await agent.report(endpointId, { kind: "lost", ...refOf(job), reason: "it exited with code 1." });
    passTime(10);
    const second = await agent.take(endpointId, workerId);
    passTime(10);
    await agent.exchange(endpointId, { held: [] }); // the second one never arrived
    passTime(10);
    const third = await agent.take(endpointId, workerId);
    passTime(10);
    await agent.report(endpointId, { kind: "failed", ...refOf(third), error: "bad" });
    passTime(10);
    await call("POST", `/v2/${endpointId}/retry/${jobId}`);
    passTime(10);
    await call("POST", `/v2/${endpointId}/cancel/${jobId}`);
    expect(second.attempt).toBe(2);
    expect(await timeline()).toEqual([
      { event: "submitted", at: 0 },
      taken(1, 0),
      { event: "requeued", at: 10, attempt: 1, reason: expect.stringContaining("it exited with code 1.") },
      taken(2, 20),
      { event: "requeued", at: 30, attempt: 2, reason: expect.any(String) },
      taken(3, 40),
      { event: "finished", at: 50, status: "FAILED" },
      { event: "retried", at: 60 },
      { event: "cancelled", at: 70 },
    ]);
  });

  test("bounds the times that a host reports by the claim and the present", async ({ expect }) => {
    const { endpointId, agent, job, timeline } = await takenJob();
    passTime(100);
    const held = [{ ...refOf(job), ago: { handlerStarted: 86_400_000, handlerFinished: 0 } }];
    await agent.exchange(endpointId, { held });
    expect((await timeline()).slice(2)).toEqual([
      { event: "handler_started", at: 0, attempt: 1 },
      { event: "handler_finished", at: 100, attempt: 1 },
    ]);
    const stranger = await ScriptedAgent.join(api, "stranger");
    await stranger.exchange(endpointId, { held: [{ ...refOf(job), ago: { handlerStarted: 50 } }] });
    expect((await timeline())[2]).toMatchObject({ at: 0 });
  });

  test("of a timed-out and of a purged job", async ({ expect }) => {
    const timedOut = await takenJob({ executionTimeout: 5_000 });
    passTime(5_000);
    await fireAlarm(timedOut.endpointId);
    expect((await timedOut.timeline()).at(-1)).toEqual({ event: "finished", at: 5_000, status: "TIMED_OUT" });
    const purged = await queuedJob();
    passTime(7);
    await call("POST", `/v2/${purged.endpointId}/purge-queue`);
    expect(await purged.timeline()).toEqual([
      { event: "submitted", at: 0 },
      { event: "cancelled", at: 7 },
    ]);
  });

  test("costs no row", async ({ expect }) => {
    const { endpointId, agent, job } = await takenJob();
    const written = async () => (await endpointObject(endpointId).vitals()).rowsWritten;
    const before = await written();
    for (let round = 0; round < 10; round += 1) {
      passTime(1_000);
      await agent.exchange(endpointId, { held: [{ ...refOf(job), ago: { handlerStarted: 1_000 * round } }] });
    }
    expect(await written()).toBe(before);
    const held = [{ ...refOf(job), ago: { handlerStarted: 10_000, handlerFinished: 5 } }];
    await agent.exchange(endpointId, {
      held,
      reports: [{ kind: "completed", ...refOf(job), output: 1 }],
    });
    expect((await written()) - before).toBe(1);
  });
});
