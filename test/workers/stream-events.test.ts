/** Streams as server-sent events: every chunk from where the client left off, then the final status. */
import { STREAM_HEARTBEAT_MS } from "../../src/gateway/queue/streams/stream-events.ts";
import { beforeEach, describe, test, vi } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { channelOf, evict, noChannelOf, passTime, notifyChannels } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, openEvents, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);

async function startedJob() {
  const endpointId = await createEndpoint();
  await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const job = await agent.take(endpointId, workerId);
  const path = `/v2/${endpointId}/stream/${job.id}`;
  return {
    endpointId,
    agent,
    workerId,
    job,
    path,
    listen: (lastEventId?: number) => openEvents(path, lastEventId),
    yields: (from: number, ...outputs: string[]) => agent.stream(endpointId, job, from, outputs),
  };
}

const chunk = (id: number, output: unknown) => ({ event: "message", id: `${id}`, data: { output } });

describe("an event stream", () => {
  test("sends present chunks, later ones, and the final status", async ({ expect }) => {
    const { endpointId, agent, job, listen, yields } = await startedJob();
    await yields(1, "a", "line 1\nline 2");
    await using events = await listen();
    expect(events.headers.get("Content-Type")).toContain("text/event-stream");
    expect(await events.next()).toEqual(chunk(1, "a"));
    expect(await events.next()).toEqual(chunk(2, "line 1\nline 2"));
    await yields(3, "c");
    expect(await events.next()).toEqual(chunk(3, "c"));
    await agent.complete(endpointId, job, ["whole"]);
    expect(await events.next()).toMatchObject({
      event: "status",
      data: { id: job.id, status: "COMPLETED", output: ["whole"], executionTime: expect.any(Number) },
    });
    expect(await events.next()).toBeUndefined();
  });

  test("continues after the last event that the client got, even inside a batch", async ({ expect }) => {
    const { endpointId, agent, job, listen, yields } = await startedJob();
    await yields(1, "a", "b", "c");
    await yields(4, "d");
    await agent.complete(endpointId, job, []);
    await using events = await listen(2);
    expect([await events.next(), await events.next()]).toEqual([chunk(3, "c"), chunk(4, "d")]);
    expect(await events.next()).toMatchObject({ event: "status" });
    await using late = await listen(4);
    expect(await late.next()).toMatchObject({ event: "status", data: { status: "COMPLETED" } });
  });

  test("and polls do not drain each other's chunks", async ({ expect }) => {
    const { listen, yields, path } = await startedJob();
    await yields(1, "a");
    await using events = await listen();
    expect(await events.next()).toEqual(chunk(1, "a"));
    const drained = { status: "IN_PROGRESS", stream: [{ output: "a" }] };
    expect((await call("GET", path)).body).toEqual(drained);
    await using again = await listen();
    expect(await again.next()).toEqual(chunk(1, "a"));
  });

  test("outlasts the object's memory", async ({ expect }) => {
    const { endpointId, agent, job, listen, yields } = await startedJob();
    await yields(1, "a");
    await using events = await listen();
    expect(await events.next()).toEqual(chunk(1, "a"));
    for (const [number, output] of [
      [2, "b"],
      [3, "c"],
    ] as const) {
      await channelOf(endpointId, "stream:1");
      await evict(endpointId);
      await yields(number, output);
      expect(await events.next()).toEqual(chunk(number, output));
    }
    await channelOf(endpointId, "stream:1");
    await evict(endpointId);
    await agent.complete(endpointId, job, []);
    expect(await events.next()).toMatchObject({ event: "status" });
  });

  test("shows a newer attempt from its start, under increasing ids", async ({ expect }) => {
    const { endpointId, agent, job, workerId, listen, yields } = await startedJob();
    await yields(1, "old 1", "old 2");
    await using events = await listen();
    expect([await events.next(), await events.next()]).toEqual([chunk(1, "old 1"), chunk(2, "old 2")]);
    const lost = { kind: "lost" as const, jobId: job.id, attempt: 1, workerId, reason: "exited." };
    await agent.report(endpointId, lost);
    const second = await agent.take(endpointId, workerId);
    await agent.stream(endpointId, second, 1, ["new 1"]);
    expect(await events.next()).toEqual(chunk(3, "new 1"));
    await using resumed = await listen(1);
    expect(await resumed.next()).toEqual(chunk(3, "new 1"));
  });

  test("continues with all of a retried job, after what the client got before", async ({ expect }) => {
    const { endpointId, agent, job, workerId, listen, yields, path } = await startedJob();
    const jobRef = { jobId: job.id, attempt: 1, workerId };
    await yields(1, "old 1", "old 2");
    await agent.report(endpointId, { kind: "failed", ...jobRef, error: "after two" });
    await call("POST", `/v2/${endpointId}/retry/${job.id}`);
    const second = await agent.take(endpointId, workerId);
    await agent.stream(endpointId, second, 1, ["new 1"]);
    await using resumed = await listen(2);
    expect(await resumed.next()).toEqual(chunk(3, "new 1"));
    expect((await call("GET", path)).body["stream"]).toEqual([{ output: "new 1" }]);
  });

  test("is sent only on request, and never for an unknown job", async ({ expect }) => {
    const { endpointId, yields, path } = await startedJob();
    await yields(1, "a");
    const any = await call("GET", path, undefined, { Accept: "application/json, text/plain, */*" });
    expect(any.body).toMatchObject({ stream: [{ output: "a" }] });
    const accept = { Accept: "text/event-stream" };
    const unknown = await call("GET", `/v2/${endpointId}/stream/nonsense`, undefined, accept);
    expect(unknown).toMatchObject({ status: 404, body: { code: "job_not_found" } });
  });

  test("sends a comment when nothing was sent for 15 s", async ({ expect }) => {
    const { endpointId, listen } = await startedJob();
    await using events = await listen();
    await events.comment();
    await channelOf(endpointId, "stream:1");
    vi.useFakeTimers({ toFake: ["Date"] });
    passTime(STREAM_HEARTBEAT_MS);
    await notifyChannels(endpointId, "stream:1");
    await expect(events.comment()).resolves.toBeUndefined();
    vi.useRealTimers();
  });

  test("leaves nothing behind when its client leaves", async ({ expect }) => {
    const { endpointId, listen, yields } = await startedJob();
    await yields(1, "a");
    {
      await using events = await listen();
      await events.next();
      await channelOf(endpointId, "stream:1");
    }
    expect(await yields(2, "b")).toBe(2); // the writer finds out with its next words
    await noChannelOf(endpointId, "stream:1");
    await using again = await listen(1);
    expect(await again.next()).toEqual(chunk(2, "b"));
  });
});
