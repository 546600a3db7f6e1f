import { beforeEach, describe, test } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { channelOf, evict, untilHeld } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

async function readyEndpoint() {
  const endpointId = await createEndpoint();
  const agent = await ScriptedAgent.join(api);
  await call("POST", `/v2/${endpointId}/run`, { input: "first" });
  const workerId = await agent.bringUpWorker(endpointId);
  const job = await agent.take(endpointId, workerId);
  return { endpointId, agent, workerId, job };
}

beforeEach(signInAsNewAccount);

describe("waits outlast the object's memory", () => {
  test("a waiting agent gets the next job after the object was evicted", async ({ expect }) => {
    const { endpointId, agent, workerId, job } = await readyEndpoint();
    await agent.complete(endpointId, job, 1);
    const waiting = agent.take(endpointId, workerId, 30_000);
    await channelOf(endpointId, "agent");
    await evict(endpointId);
    await call("POST", `/v2/${endpointId}/run`, { input: "second" });
    expect((await waiting).input).toBe("second");
  });

  test("the job of a waiting runsync client reaches a waiting agent after an eviction", async ({
    expect,
  }) => {
    const { endpointId, agent, job } = await readyEndpoint();
    const client = call("GET", `/v2/${endpointId}/status/${job.id}?wait=30000`);
    const parked = agent.exchange(endpointId, { holdMs: 30_000 });
    await Promise.all([channelOf(endpointId, "agent"), channelOf(endpointId, `job:${1}`)]);
    await evict(endpointId);
    expect(await agent.complete(endpointId, job, "done")).toBe("accepted");
    expect((await client).body).toMatchObject({ status: "COMPLETED", output: "done" });
    await agent.exchange(endpointId, { holdMs: 1_000 }); // sends the parked one home
    expect(await parked).toMatchObject({ jobs: [], stops: [] });
  });

  test("an agent that waits on after an eviction keeps the jobs that came while it waited", async ({
    expect,
  }) => {
    const { endpointId, agent, workerId, job } = await readyEndpoint();
    const newestReplyAt = Date.now() + 60_000; // the object was where the clock is ahead
    const parked = agent.exchange(endpointId, { newestReplyAt, holdMs: 30_000 });
    await channelOf(endpointId, "agent");
    const { body } = await call("POST", `/v2/${endpointId}/run`, { input: "second" });
    const { jobs } = await agent.exchange(endpointId, { slots: [{ workerId, free: 1 }] });
    expect(jobs).toMatchObject([{ id: body["id"], attempt: 1 }]);
    await evict(endpointId);
    await call("POST", `/v2/${endpointId}/cancel/${job.id}`);
    expect((await parked).stops).toEqual([{ jobId: job.id, attempt: 1, reason: "cancelled" }]);
    const second = await call("GET", `/v2/${endpointId}/status/${String(body["id"])}`);
    expect(second.body).toMatchObject({ status: "IN_PROGRESS" });
  });

  test("cancel notifies a waiting agent after an eviction", async ({ expect }) => {
    const { endpointId, agent, job } = await readyEndpoint();
    const parked = agent.exchange(endpointId, { holdMs: 30_000 });
    await channelOf(endpointId, "agent");
    await evict(endpointId);
    await call("POST", `/v2/${endpointId}/cancel/${job.id}`);
    expect((await parked).stops).toEqual([{ jobId: job.id, attempt: 1, reason: "cancelled" }]);
  });
});

describe("waits end", () => {
  test("a wait that ends first answers with the present state of the job", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMax: 0");
    const reply = await call("POST", `/v2/${endpointId}/runsync?wait=1000`, { input: 1 });
    expect(reply).toMatchObject({ status: 200, body: { status: "IN_QUEUE" } });
  });

  test("plain status does not wait", async ({ expect }) => {
    const { endpointId, job } = await readyEndpoint();
    expect((await call("GET", `/v2/${endpointId}/status/${job.id}`)).body).toMatchObject({
      status: "IN_PROGRESS",
    });
  });

  test("a newer wait of an agent ends the older one at once", async ({ expect }) => {
    const { endpointId, agent, workerId, job } = await readyEndpoint();
    await agent.complete(endpointId, job, 1);
    const older = agent.exchange(endpointId, { slots: [{ workerId, free: 1 }], holdMs: 30_000 });
    await channelOf(endpointId, "agent");
    const newer = agent.exchange(endpointId, {
      slots: [{ workerId, free: 1 }],
      holdMs: 30_000,
      openTurns: [3],
    });
    expect(await older).toMatchObject({ acks: [], chunkAcks: [], jobs: [], stops: [] });
    await call("POST", `/v2/${endpointId}/run`, { input: "next" });
    expect((await newer).jobs).toMatchObject([{ input: "next" }]);
  });

  test("a report of a waiting call is acknowledged with the next job, or soon without one", async ({
    expect,
  }) => {
    const { endpointId, agent, workerId, job } = await readyEndpoint();
    const reporting = (id: string) => ({
      reports: [{ kind: "completed" as const, jobId: id, attempt: 1, workerId, output: 1 }],
      slots: [{ workerId, free: 1 }],
      holdMs: 30_000,
    });
    const held = agent.exchange(endpointId, reporting(job.id));
    await untilHeld(endpointId);
    await call("POST", `/v2/${endpointId}/run`, { input: "next" });
    const { acks, jobs } = await held;
    expect(acks).toEqual([{ jobId: job.id, attempt: 1, outcome: "accepted" }]);
    expect(jobs).toMatchObject([{ input: "next" }]);

    const last = await agent.exchange(endpointId, reporting(jobs[0]?.id ?? ""));
    expect(last).toMatchObject({ acks: [{ jobId: jobs[0]?.id, outcome: "accepted" }], jobs: [] });
  });

  test("many waiting clients each get the result of their job", async ({ expect }) => {
    const { endpointId, agent, workerId, job } = await readyEndpoint();
    await agent.complete(endpointId, job, 0);
    const replies = Array.from({ length: 20 }, (_, n) =>
      call("POST", `/v2/${endpointId}/runsync`, { input: n }),
    );
    for (let left = 20; left > 0;) {
      const { jobs } = await agent.exchange(endpointId, { slots: [{ workerId, free: 8 }], holdMs: 10_000 });
      await Promise.all(jobs.map((each) => agent.complete(endpointId, each, each.input)));
      left -= jobs.length;
    }
    const outputs = (await Promise.all(replies)).map(({ body }) => body["output"]);
    expect(outputs).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });
});
