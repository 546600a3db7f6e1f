/** Streams as clients see them: what a handler yields, drained by polls. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { DispatchedJob } from "../../src/contract/agent/agent.ts";
import { CHUNK_MAX_BYTES, STREAM_MAX_BYTES } from "../../src/contract/limits.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { channelOf, endpointObject, evict, fireAlarm, passTime } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
afterEach(() => void vi.useRealTimers());

/** A job that a scripted agent runs; `drain` is what a client's stream call answers. */
async function startedJob() {
  const endpointId = await createEndpoint();
  const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  const jobId = String(body["id"]);
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const job = await agent.take(endpointId, workerId);
  return {
    endpointId,
    agent,
    workerId,
    job,
    drain: async (query = "", method = "GET") =>
      (await call(method, `/v2/${endpointId}/stream/${jobId}${query}`)).body,
    yields: (from: number, ...outputs: string[]) => agent.stream(endpointId, job, from, outputs),
  };
}

const outputs = (...values: unknown[]) => values.map((output) => ({ output }));
const refOf = (job: DispatchedJob) => ({ jobId: job.id, attempt: job.attempt, workerId: job.workerId });

async function rowsOf(endpointId: string, table: "chunk" | "drained"): Promise<number> {
  return runInDurableObject(
    endpointObject(endpointId),
    (_, state) => state.storage.sql.exec(`SELECT * FROM ${table}`).toArray().length,
  );
}

describe("a stream that is drained by polls", () => {
  test("is empty when its job is retried, before the new attempt yields", async ({ expect }) => {
    const { endpointId, agent, job, drain, yields } = await startedJob();
    await yields(1, "a", "b");
    await agent.report(endpointId, { kind: "failed", ...refOf(job), error: "after two" });
    await call("POST", `/v2/${endpointId}/retry/${job.id}`);
    expect(await rowsOf(endpointId, "chunk")).toBe(0);
    expect(await drain()).toEqual({ status: "IN_QUEUE", stream: [] });
  });

  test("returns each chunk once, in order, as it was yielded", async ({ expect }) => {
    const { endpointId, agent, job, drain } = await startedJob();
    const values = ["a", { token: "é", n: 1.5 }, null, [1, [2]], 0, false];
    expect(await agent.stream(endpointId, job, 1, values)).toBe(6);
    expect(await drain()).toEqual({ status: "IN_PROGRESS", stream: outputs(...values) });
    await agent.stream(endpointId, job, 7, ["b"]);
    expect(await drain("", "POST")).toEqual({ status: "IN_PROGRESS", stream: outputs("b") });
  });

  test("the first reply with a final status has all remaining chunks, the next one none", async ({
    expect,
  }) => {
    const { endpointId, agent, job, drain, yields } = await startedJob();
    await yields(1, "a");
    await yields(2, "b", "c");
    expect(await agent.complete(endpointId, job, [])).toBe("accepted");
    expect(await drain()).toEqual({ status: "COMPLETED", stream: outputs("a", "b", "c") });
    for (const _ of [1, 2]) expect(await drain()).toEqual({ status: "COMPLETED", stream: [] });
  });

  test("chunks that come with the final report are in the stream of the ended job", async ({ expect }) => {
    const { endpointId, agent, job, drain } = await startedJob();
    const report = { kind: "failed" as const, ...refOf(job), error: "after two" };
    await agent.stream(endpointId, job, 1, ["a", "b"], { reports: [report] });
    expect(await drain()).toEqual({ status: "FAILED", stream: outputs("a", "b") });
  });

  test("a job that never yields has an empty stream in every state", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMax: 0");
    const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const path = `/v2/${endpointId}/stream/${String(body["id"])}`;
    expect((await call("GET", `${path}?wait=1000`)).body).toEqual({ status: "IN_QUEUE", stream: [] });
    await call("POST", `/v2/${endpointId}/cancel/${String(body["id"])}`);
    expect((await call("GET", path)).body).toEqual({ status: "CANCELLED", stream: [] });
  });

  test("an unknown job is not found, and a wait out of range is rejected", async ({ expect }) => {
    const { endpointId, job } = await startedJob();
    const unknown = await call("GET", `/v2/${endpointId}/stream/nonsense`);
    expect(unknown).toMatchObject({ status: 404, body: { code: "job_not_found" } });
    expect(unknown.body).not.toHaveProperty("status");
    expect(await call("GET", `/v2/${endpointId}/stream/${job.id}?wait=5`)).toMatchObject({ status: 400 });
  });
});

describe("a stream call with nothing to send", () => {
  test("waits inside the busy object for the next chunk", async ({ expect }) => {
    const { drain, yields } = await startedJob();
    await yields(1, "a");
    await drain();
    const waiting = drain();
    await yields(2, "b");
    expect(await waiting).toEqual({ status: "IN_PROGRESS", stream: outputs("b") });
  });

  test("waits on a channel, and is woken by a chunk after the object was evicted", async ({ expect }) => {
    const { endpointId, drain, yields } = await startedJob();
    await yields(1, "a");
    await drain();
    const waiting = drain("?wait=30000");
    await channelOf(endpointId, "stream:1");
    await evict(endpointId);
    await yields(2, "b");
    expect(await waiting).toEqual({ status: "IN_PROGRESS", stream: outputs("b") });
  });

  test("is woken by the end of the job", async ({ expect }) => {
    const { endpointId, agent, job, drain } = await startedJob();
    const waiting = drain("?wait=30000");
    await channelOf(endpointId, "stream:1");
    await agent.complete(endpointId, job, "result");
    expect(await waiting).toEqual({ status: "COMPLETED", stream: [] });
  });

  test("ends with the state of the job when the wait is over", async ({ expect }) => {
    const { drain } = await startedJob();
    expect(await drain("?wait=1000")).toEqual({ status: "IN_PROGRESS", stream: [] });
  });
});

describe("evicted in the middle", () => {
  test("the object neither repeats nor loses a chunk", async ({ expect }) => {
    const { endpointId, agent, job, drain, yields } = await startedJob();
    const seen: unknown[] = [];
    for (let number = 1; number <= 6; number += 1) {
      await yields(number, `chunk ${number}`);
      if (number % 2 === 0) await evict(endpointId);
      if (number % 3 !== 0) continue;
      seen.push(...((await drain())["stream"] as unknown[]));
      await evict(endpointId);
    }
    await agent.complete(endpointId, job, []);
    await evict(endpointId);
    expect(seen).toEqual(outputs(...[1, 2, 3, 4, 5, 6].map((number) => `chunk ${number}`)));
    expect(await drain()).toEqual({ status: "COMPLETED", stream: [] });
  });
});

describe("chunks of an agent", () => {
  test("that arrive again are stored once", async ({ expect }) => {
    const { endpointId, drain, yields } = await startedJob();
    expect(await yields(1, "a", "b")).toBe(2);
    expect(await yields(1, "a", "b")).toBe(2);
    await evict(endpointId);
    expect(await yields(2, "b", "c")).toBe(3);
    expect((await drain())["stream"]).toEqual(outputs("a", "b", "c"));
  });

  test("after a gap are not stored; the acknowledgement names where to continue", async ({ expect }) => {
    const { drain, yields } = await startedJob();
    await yields(1, "a");
    expect(await yields(3, "c")).toBe(1);
    expect(await yields(2, "b", "c")).toBe(3);
    expect((await drain())["stream"]).toEqual(outputs("a", "b", "c"));
  });

  test("of a replaced attempt are dropped, and its handler is stopped", async ({ expect }) => {
    const { endpointId, agent, job, workerId, drain, yields } = await startedJob();
    await yields(1, "old 1", "old 2");
    expect((await drain())["stream"]).toEqual(outputs("old 1", "old 2"));
    await yields(3, "old 3");
    await agent.report(endpointId, { kind: "lost", ...refOf(job), reason: "exited." });
    const second = await agent.take(endpointId, workerId);

    const late = await agent.exchange(endpointId, {
      chunks: [{ ...refOf(job), from: 4, outputs: ["late"] }],
    });
    expect(late.chunkAcks).toEqual([{ jobId: job.id, attempt: 1, received: 4 }]);
    expect(late.stops).toEqual([{ jobId: job.id, attempt: 1, reason: "lease_lost" }]);
    await agent.stream(endpointId, second, 1, ["new 1", "new 2"]);
    expect((await drain())["stream"]).toEqual(outputs("new 1", "new 2"));
    await evict(endpointId);
    await agent.stream(endpointId, second, 3, ["new 3"]);
    await agent.complete(endpointId, second, []);
    expect(await drain()).toEqual({ status: "COMPLETED", stream: outputs("new 3") });
  });

  test("of a host without the job are dropped", async ({ expect }) => {
    const { endpointId, agent, job, drain } = await startedJob();
    const stranger = await ScriptedAgent.join(api, "stranger");
    await stranger.stream(endpointId, job, 1, ["forged"]);
    await agent.complete(endpointId, job, []);
    expect(await drain()).toEqual({ status: "COMPLETED", stream: [] });
  });

  test("above the limit of a job fail it with that reason and stop its handler", async ({ expect }) => {
    const { endpointId, agent, job, drain } = await startedJob();
    const megabyte = "x".repeat(CHUNK_MAX_BYTES - 2);
    const quarter = Array.from({ length: STREAM_MAX_BYTES / CHUNK_MAX_BYTES / 4 }, () => megabyte);
    for (const from of [1, 6, 11, 16]) {
      expect(await agent.stream(endpointId, job, from, quarter)).toBe(from + 4);
    }
    const over = await agent.exchange(endpointId, { chunks: [{ ...refOf(job), from: 21, outputs: ["x"] }] });
    expect(over.stops).toMatchObject([{ jobId: job.id, attempt: 1 }]);
    const { body } = await call("GET", `/v2/${endpointId}/status/${job.id}`);
    expect(body).toMatchObject({
      status: "FAILED",
      error: expect.stringContaining("more than 20000000 bytes"),
    });
    expect((await drain())["stream"]).toHaveLength(20);
  });

  test("of which one is too large fail the job", async ({ expect }) => {
    const { endpointId, job, drain, yields } = await startedJob();
    await yields(1, "é".repeat(CHUNK_MAX_BYTES / 2));
    const { body } = await call("GET", `/v2/${endpointId}/status/${job.id}`);
    expect(body).toMatchObject({
      status: "FAILED",
      error: expect.stringContaining("chunk of 1000002 bytes"),
    });
    expect(await drain()).toEqual({ status: "FAILED", stream: [] });
  });
});

describe("what a stream costs", () => {
  test("is a row for each batch that came, and one for each that was drained", async ({ expect }) => {
    const { endpointId, agent, job, drain } = await startedJob();
    vi.useFakeTimers({ toFake: ["Date"] }); // a lease that is renewed after seconds costs a row of its own
    const rows = async (work: () => Promise<unknown>) => {
      const stub = endpointObject(endpointId);
      const before = (await stub.vitals()).rowsWritten;
      await work();
      return (await stub.vitals()).rowsWritten - before;
    };
    const batch = Array.from({ length: 100 }, (_, number) => `token ${number}`);
    expect(await rows(() => agent.stream(endpointId, job, 1, batch))).toBe(1);
    expect(await rows(() => agent.stream(endpointId, job, 1, batch))).toBe(0);
    expect(await rows(drain)).toBe(1);
    const startedAt = Date.now();
    vi.useRealTimers(); // a wait ends by the clock
    expect(await rows(() => drain("?wait=1000"))).toBe(0);
    vi.useFakeTimers({ toFake: ["Date"], now: startedAt });
    expect(await rows(() => agent.stream(endpointId, job, 101, batch))).toBe(1);
  });

  test("is removed with the job", async ({ expect }) => {
    const { endpointId, agent, job, drain, yields } = await startedJob();
    await yields(1, "a");
    await drain();
    await agent.complete(endpointId, job, []);
    expect([await rowsOf(endpointId, "chunk"), await rowsOf(endpointId, "drained")]).toEqual([1, 1]);
    vi.useFakeTimers({ toFake: ["Date"] });
    passTime(31 * 60_000);
    await fireAlarm(endpointId);
    expect([await rowsOf(endpointId, "chunk"), await rowsOf(endpointId, "drained")]).toEqual([0, 0]);
    expect((await call("GET", `/v2/${endpointId}/stream/${job.id}`)).status).toBe(404);
  });
});
