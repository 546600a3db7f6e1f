import { beforeEach, describe, test } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);

describe("the life of a job", () => {
  test("run queues a job, an agent takes it, status shows its result", async ({ expect }) => {
    const endpointId = await createEndpoint();
    const submitted = await call("POST", `/v2/${endpointId}/run`, { input: { a: 1 } });
    expect(submitted.status).toBe(200);
    expect(submitted.body).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}-s0$/), status: "IN_QUEUE" });

    const agent = await ScriptedAgent.join(api);
    const workerId = await agent.bringUpWorker(endpointId);
    const job = await agent.take(endpointId, workerId);
    expect(job).toMatchObject({
      id: submitted.body["id"],
      input: { a: 1 },
      attempt: 1,
      executionTimeoutMs: 600_000,
    });
    const running = await call("GET", `/v2/${endpointId}/status/${job.id}`);
    expect(running.body).toMatchObject({ status: "IN_PROGRESS", workerId });

    expect(await agent.complete(endpointId, job, { sum: 2 })).toBe("accepted");
    const done = await call("GET", `/v2/${endpointId}/status/${job.id}`);
    expect(done.body).toEqual({
      id: job.id,
      status: "COMPLETED",
      output: { sum: 2 },
      delayTime: expect.any(Number),
      executionTime: expect.any(Number),
      workerId,
    });
  });

  test("runsync answers with the result of its job", async ({ expect }) => {
    const endpointId = await createEndpoint();
    const agent = await ScriptedAgent.join(api);
    const reply = call("POST", `/v2/${endpointId}/runsync`, { input: { name: "Ada" } });
    const workerId = await agent.bringUpWorker(endpointId);
    const job = await agent.take(endpointId, workerId);
    await agent.complete(endpointId, job, ["hello Ada"]);
    expect((await reply).body).toMatchObject({
      id: expect.stringMatching(/^sync-/),
      status: "COMPLETED",
      output: ["hello Ada"],
    });
  });

  test("a job submitted while an agent waits is claimed in the write that inserts it", async ({ expect }) => {
    const endpointId = await createEndpoint();
    const agent = await ScriptedAgent.join(api);
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const workerId = await agent.bringUpWorker(endpointId);
    const first = await agent.take(endpointId, workerId);
    await agent.complete(endpointId, first, 1);
    const waiting = agent.take(endpointId, workerId);
    const reply = call("POST", `/v2/${endpointId}/runsync`, { input: 2 });
    const second = await waiting;
    expect(second.input).toBe(2);
    await agent.complete(endpointId, second, 2);
    expect((await reply).body).toMatchObject({ status: "COMPLETED", output: 2 });
  });
});
