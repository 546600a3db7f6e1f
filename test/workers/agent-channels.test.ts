/** Jobs for agents that wait outside the object, on a wake-up channel. */
import { runInDurableObject } from "cloudflare:test";
import { beforeEach, test } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { channelOf, endpointObject, evict, noChannelOf } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

const HOLD_MS = 30_000;

beforeEach(signInAsNewAccount);

/** An agent whose worker is free and whose exchange waits on a channel, as jobs do not come quickly. */
async function waitingAgent() {
  const endpointId = await createEndpoint("idleTimeout: 3600");
  const agent = await ScriptedAgent.join(api);
  await call("POST", `/v2/${endpointId}/run`, { input: "first" });
  const workerId = await agent.bringUpWorker(endpointId);
  await agent.complete(endpointId, await agent.take(endpointId, workerId), 0);
  const waiting = agent.exchange(endpointId, { slots: [{ workerId, free: 1 }], holdMs: HOLD_MS });
  await channelOf(endpointId, "agent");
  const submit = () => call("POST", `/v2/${endpointId}/run`, { input: 1 });
  return { endpointId, agent, workerId, waiting, submit };
}

/** Claims that no row of a job records. */
async function unwrittenClaims(endpointId: string): Promise<unknown[]> {
  return runInDurableObject(endpointObject(endpointId), (_, { storage }) =>
    storage.sql.exec("SELECT name, json FROM fact WHERE name LIKE 'claims:%'").toArray(),
  );
}

test.for(["is awake", "has slept"])(
  "a job is claimed in the write that adds it when its object %s",
  async (object, { expect }) => {
    const { endpointId, workerId, waiting, submit } = await waitingAgent();
    if (object === "has slept") await evict(endpointId);
    const before = await unwrittenClaims(endpointId);
    const { body } = await submit();
    const { jobs } = await waiting;
    expect(jobs).toMatchObject([{ id: body["id"], workerId, input: 1 }]);
    expect(await unwrittenClaims(endpointId)).toEqual(before);
    const status = await call("GET", `/v2/${endpointId}/status/${String(body["id"])}`);
    expect(status.body).toMatchObject({ status: "IN_PROGRESS", workerId });
  },
);

test("a second job waits, since the slot is taken", async ({ expect }) => {
  const { endpointId, agent, workerId, waiting, submit } = await waitingAgent();
  await submit();
  const second = await submit();
  const [first] = (await waiting).jobs;
  expect(second.body).toMatchObject({ status: "IN_QUEUE" });
  expect(first).toBeDefined();
  if (first) await agent.complete(endpointId, first, 1);
  expect(await agent.take(endpointId, workerId)).toMatchObject({ id: second.body["id"] });
});

test("a job that gets lost on the channel is given again, without counting as lost", async ({ expect }) => {
  const { endpointId, agent, workerId, waiting, submit } = await waitingAgent();
  const { body } = await submit();
  await waiting; // the agent does not see this answer
  await noChannelOf(endpointId, "agent");
  const { jobs } = await agent.exchange(endpointId, { held: [], slots: [{ workerId, free: 1 }] });
  expect(jobs).toMatchObject([{ id: body["id"], attempt: 2 }]);
  for (const job of jobs) await agent.complete(endpointId, job, 1);
  const status = await call("GET", `/v2/${endpointId}/status/${String(body["id"])}`);
  expect(status.body).toMatchObject({ status: "COMPLETED" });
  expect(status.body).not.toHaveProperty("retries");
});
