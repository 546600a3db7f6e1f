import { EXCHANGE_BODY_MAX_BYTES, PROGRESS_MAX_BYTES } from "../../src/gateway/agent/exchange.ts";
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { DispatchedJob, ExchangeRequest } from "../../src/contract/agent/agent.ts";
import { INLINE_PAYLOAD_MAX_BYTES, RESULT_MAX_BYTES } from "../../src/contract/limits.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { evict, fireAlarm, passTime } from "./object.ts";
import { bucketIsEmpty, inPieces, payloadKeys } from "./payload-bucket.ts";
import { RUN_RETENTION_MS } from "../../src/domain/jobs/job-machine.ts";

const api = new EdgeClient();
const { call, createEndpoint, openEvents, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const OUTPUT = ["é".repeat(INLINE_PAYLOAD_MAX_BYTES / 2)];
const RESULT = JSON.stringify(OUTPUT, null, 1);
const SIZE_BYTES = new TextEncoder().encode(RESULT).byteLength;
const REFUSED = { status: 200, reply: { outcome: "refused" } };
const ACCEPTED = { status: 200, reply: { outcome: "accepted", upload: { sizeBytes: SIZE_BYTES } } };

/** A job that a worker has taken. */
async function takenJob() {
  const endpointId = await createEndpoint("workersMin: 1, workersMax: 1, idleTimeout: 5");
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  const take = () => agent.take(endpointId, workerId);
  const job = await take();
  const status = async () => (await call("GET", `/v2/${endpointId}/status/${job.id}`)).body;
  return { endpointId, agent, job, take, status };
}

function reportOf({ id, attempt, workerId }: DispatchedJob): ExchangeRequest["reports"][number] {
  return { kind: "completed", jobId: id, attempt, workerId, upload: { sizeBytes: SIZE_BYTES } };
}

describe("an uploaded result", () => {
  test("is the output of its job, and is removed with it", async ({ expect }) => {
    const { endpointId, agent, job, status } = await takenJob();
    expect(await agent.upload(endpointId, job, RESULT)).toEqual(ACCEPTED);
    expect(await status()).toMatchObject({ status: "IN_PROGRESS" });
    expect(await agent.report(endpointId, reportOf(job))).toBe("accepted");
    expect(await status()).toMatchObject({ status: "COMPLETED", output: OUTPUT });
    expect(await payloadKeys(endpointId)).toEqual([`jobs/${endpointId}/${job.id}/1`]);

    passTime(RUN_RETENTION_MS + 10_000);
    await fireAlarm(endpointId);
    await bucketIsEmpty(endpointId);
  });

  test("is sent byte by byte as it arrived", async ({ expect }) => {
    const { endpointId, agent, job } = await takenJob();
    await agent.upload(endpointId, job, ` ${RESULT}\n`);
    await agent.report(endpointId, reportOf(job));
    const response = await exports.default.fetch(`http://edge/v2/${endpointId}/status/${job.id}`, {
      headers: { Authorization: `Bearer ${api.key}` },
    });
    expect((await response.text()).endsWith(`,"output":${RESULT}}`)).toBe(true);
  });

  test("is the data of the last event of a stream", async ({ expect }) => {
    const { endpointId, agent, job } = await takenJob();
    await agent.upload(endpointId, job, RESULT); // with line breaks, which would end the data of an event
    await agent.report(endpointId, reportOf(job));
    await using events = await openEvents(`/v2/${endpointId}/stream/${job.id}`);
    expect(await events.next()).toMatchObject({ event: "status", data: { output: OUTPUT } });
    expect(await events.next()).toBeUndefined();
  });

  test("may be uploaded and reported again", async ({ expect }) => {
    const { endpointId, agent, job, status } = await takenJob();
    expect(await agent.upload(endpointId, job, inPieces(RESULT))).toEqual(ACCEPTED);
    expect(await agent.upload(endpointId, job, RESULT)).toEqual(ACCEPTED);
    expect(await agent.report(endpointId, reportOf(job))).toBe("accepted");
    await evict(endpointId);
    expect(await agent.upload(endpointId, job, RESULT)).toEqual(ACCEPTED); // its reply was late
    expect(await agent.report(endpointId, reportOf(job))).toBe("refused");
    expect(await status()).toMatchObject({ status: "COMPLETED", output: OUTPUT });
    expect(await payloadKeys(endpointId)).toHaveLength(1);
  });

  test("outlives the report of a host that does not have the job", async ({ expect }) => {
    const { endpointId, agent, job, status } = await takenJob();
    const other = await ScriptedAgent.join(api);
    await agent.upload(endpointId, job, RESULT);
    expect(await other.report(endpointId, reportOf(job))).toBe("refused");
    await evict(endpointId); // what was to be removed has been removed
    expect(await payloadKeys(endpointId)).toHaveLength(1);
    expect(await agent.report(endpointId, reportOf(job))).toBe("accepted");
    expect(await status()).toMatchObject({ status: "COMPLETED", output: OUTPUT });
  });

  test("of a failed job is its output too, and a retry removes it", async ({ expect }) => {
    const { endpointId, agent, job, status } = await takenJob();
    await agent.upload(endpointId, job, RESULT);
    await agent.report(endpointId, { ...reportOf(job), kind: "failed", error: "half done" });
    expect(await status()).toMatchObject({ status: "FAILED", error: "half done", output: OUTPUT });
    await call("POST", `/v2/${endpointId}/retry/${job.id}`);
    await bucketIsEmpty(endpointId);
  });

  test("that was removed in the meantime does not break the answer", async ({ expect }) => {
    const { endpointId, agent, job, status } = await takenJob();
    await agent.upload(endpointId, job, RESULT);
    await agent.report(endpointId, reportOf(job));
    await env.PAYLOADS.delete(`jobs/${endpointId}/${job.id}/1`);
    expect(await status()).toMatchObject({ code: "job_not_found" });
  });
});

describe("an upload is rejected", () => {
  test("when the attempt is another host's, unknown, or not the current one", async ({ expect }) => {
    const { endpointId, agent, job } = await takenJob();
    const other = await ScriptedAgent.join(api);
    const unknown = { ...job, id: `00000000-${job.id.slice(9)}` };
    expect(await other.upload(endpointId, job, RESULT)).toEqual(REFUSED);
    expect(await agent.upload(endpointId, unknown, RESULT)).toEqual(REFUSED);
    expect(await agent.upload(endpointId, { ...job, attempt: 2 }, RESULT)).toEqual(REFUSED);
    expect(await payloadKeys(endpointId)).toEqual([]);
  });

  test("when the endpoint is another account's", async ({ expect }) => {
    const { endpointId, job } = await takenJob();
    await signInAsNewAccount();
    const stranger = await ScriptedAgent.join(api);
    expect(await stranger.upload(endpointId, job, RESULT)).toMatchObject({ status: 404 });
    expect(await payloadKeys(endpointId)).toEqual([]);
  });

  test("when it is no JSON or too large, and leaves nothing behind", async ({ expect }) => {
    const { endpointId, agent, job } = await takenJob();
    const tooLarge = `"${"x".repeat(RESULT_MAX_BYTES - 1)}"`;
    expect(await agent.upload(endpointId, job, `${RESULT}]`)).toMatchObject({ status: 400 });
    expect(await agent.upload(endpointId, job, tooLarge)).toMatchObject({ status: 413 });
    expect(await agent.upload(endpointId, job, inPieces(tooLarge))).toMatchObject({ status: 413 });
    expect(await agent.upload(endpointId, { ...job, id: "a.b" }, RESULT)).toMatchObject({ status: 400 });
    expect(await payloadKeys(endpointId)).toEqual([]);
  });

  test("when the attempt ends while it arrives", async ({ expect }) => {
    const { endpointId, agent, job } = await takenJob();
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const reply = agent.upload(endpointId, job, readable);
    const writer = writable.getWriter();
    const bytes = new TextEncoder().encode(RESULT);
    await writer.write(bytes.subarray(0, 100_000));
    await call("POST", `/v2/${endpointId}/cancel/${job.id}`);
    await writer.write(bytes.subarray(100_000));
    await writer.close();
    expect(await reply).toEqual(REFUSED);
    expect(await payloadKeys(endpointId)).toEqual([]);
  });
});

describe("a result that was uploaded and never reported is removed", () => {
  test("when the job is cancelled", async ({ expect }) => {
    const { endpointId, agent, job } = await takenJob();
    await agent.upload(endpointId, job, RESULT);
    await call("POST", `/v2/${endpointId}/cancel/${job.id}`);
    await bucketIsEmpty(endpointId);
    expect(await agent.report(endpointId, reportOf(job))).toBe("refused");
  });

  test("when the worker is lost, and the next attempt has another key", async ({ expect }) => {
    const { endpointId, agent, job, take, status } = await takenJob();
    await agent.upload(endpointId, job, RESULT);
    const { id: jobId, attempt, workerId } = job;
    await agent.report(endpointId, { kind: "lost", jobId, attempt, workerId, reason: "gone." });
    await bucketIsEmpty(endpointId);

    const second = await take();
    await agent.upload(endpointId, second, RESULT);
    expect(await agent.report(endpointId, reportOf(job))).toBe("refused");
    expect(await agent.report(endpointId, reportOf(second))).toBe("accepted");
    expect(await status()).toMatchObject({ status: "COMPLETED", output: OUTPUT });
  });

  test("when the job is over its time, or expires", async () => {
    for (const passed of [600_000, 24 * 3_600_000]) {
      const { endpointId, agent, job } = await takenJob();
      await agent.upload(endpointId, job, RESULT);
      passTime(passed + 10_000);
      await fireAlarm(endpointId);
      await bucketIsEmpty(endpointId);
    }
  });
});

describe("an exchange", () => {
  test("is rejected when it is larger than agents send, before it is read", async ({ expect }) => {
    const { endpointId, agent, job } = await takenJob();
    const output = "x".repeat(EXCHANGE_BODY_MAX_BYTES);
    await expect(agent.complete(endpointId, job, output)).rejects.toThrow("answered 413");
  });

  test("shows progress that fits, and leaves out what is too large", async ({ expect }) => {
    const { endpointId, agent, job, status } = await takenJob();
    const { id: jobId, attempt, workerId } = job;
    const hold = (length: number) =>
      agent.exchange(endpointId, { held: [{ jobId, attempt, workerId, progress: "x".repeat(length) }] });
    await hold(PROGRESS_MAX_BYTES - 1);
    expect(await status()).not.toHaveProperty("output");
    await hold(PROGRESS_MAX_BYTES - 2);
    expect(await status()).toMatchObject({
      status: "IN_PROGRESS",
      output: "x".repeat(PROGRESS_MAX_BYTES - 2),
    });
  });
});
