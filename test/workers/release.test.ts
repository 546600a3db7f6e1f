/** A change of an endpoint is seen by the very next job, before its workers have been replaced. */
import { beforeEach, test } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { call, createEndpoint, graphql, signInAsNewAccount } from "./edge-client.ts";
import { bellOf, fleetObject, passTime } from "./object.ts";

beforeEach(signInAsNewAccount);

async function change(endpointId: string, fields: string): Promise<void> {
  await graphql(`mutation { saveEndpoint(input: { id: "${endpointId}", ${fields} }) { id } }`);
}

const run = async (endpointId: string) => await call("POST", `/v2/${endpointId}/run`, { input: {} });

/** An endpoint with one ready worker. */
async function standing(settings = "workersMin: 1, workersMax: 3") {
  const endpointId = await createEndpoint(settings);
  const agent = await ScriptedAgent.join();
  const workerId = await agent.bringUpWorker(endpointId);
  return { endpointId, agent, workerId, slots: [{ workerId, free: 1 }] };
}

test("a worker of the release before gets no job, and the one that follows it does", async ({ expect }) => {
  const { endpointId, agent, slots } = await standing();
  await change(endpointId, 'env: [{ key: "A", value: "2" }]');
  const { body } = await run(endpointId);
  expect((await agent.exchange(endpointId, { slots })).jobs).toEqual([]);

  const successor = await agent.bringUpWorker(endpointId);
  expect(successor).not.toBe(slots[0]?.workerId);
  expect((await agent.take(endpointId, successor)).id).toBe(body["id"]);
});

test("an agent that waits on a doorbell for a worker of the release before is not given jobs either", async ({
  expect,
}) => {
  const { endpointId, agent, slots } = await standing();
  passTime(60_000); // the object is quiet, so that who waits waits outside
  const waiting = agent.exchange(endpointId, { slots, holdMs: 1_000 });
  await bellOf(endpointId, "agent");
  await change(endpointId, 'env: [{ key: "A", value: "2" }]');
  await run(endpointId);
  expect((await waiting).jobs).toEqual([]);
});

test("an endpoint that allows no workers hands out nothing, also to one that still stands", async ({
  expect,
}) => {
  const { endpointId, agent, slots } = await standing();
  await change(endpointId, "workersMin: 0, workersMax: 0");
  await run(endpointId);
  expect((await agent.exchange(endpointId, { slots })).jobs).toEqual([]);
  expect((await call("GET", `/v2/${endpointId}/health`)).body).toMatchObject({ jobs: { inQueue: 1 } });
});

test("an agent that waits for a worker that finishes its job hears that workers are allowed again", async ({
  expect,
}) => {
  const { endpointId, agent, workerId, slots } = await standing();
  await run(endpointId);
  await agent.take(endpointId, workerId);
  await change(endpointId, "workersMin: 0, workersMax: 0");
  const { body } = await run(endpointId);
  const waiting = agent.exchange(endpointId, { slots, holdMs: 10_000 });
  await change(endpointId, "workersMax: 3");
  expect((await waiting).jobs).toMatchObject([{ id: body["id"], workerId }]);
});

test("a change that leaves workers as they are keeps them at work", async ({ expect }) => {
  const { endpointId, agent, workerId } = await standing();
  await change(endpointId, "idleTimeout: 9, executionTimeoutMs: 7000");
  await run(endpointId);
  expect(await agent.take(endpointId, workerId)).toMatchObject({ workerId, executionTimeoutMs: 7_000 });
  expect(await fleetObject().workersOf([endpointId])).toMatchObject([{ workerId }]);
});
