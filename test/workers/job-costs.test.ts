/** What jobs cost, counted by hand: execution, cold starts, and what of their worker is on none of them. */
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { evict, passTime, untilWebhooksRest } from "./object.ts";
import { notYet, until } from "./support/until.ts";
import { webhookTarget } from "./webhook-target.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** What a GPU costs, in dollars. */
const PER_SECOND = 0.001;

async function endpointWithJobs(count: number) {
  const agent = await ScriptedAgent.join(api);
  await graphql(
    `mutation { hostUpdate(input: { id: "${agent.hostId}", price: { perGpuHour: ${3_600 * PER_SECOND} } }) { id } }`,
  );
  await agent.sync();
  const endpointId = await createEndpoint("workersMax: 1, idleTimeout: 3600");
  const jobIds: string[] = [];
  for (let number = 0; number < count; number += 1) {
    const { body } = await call("POST", `/v2/${endpointId}/run`, { input: number });
    jobIds.push(String(body["id"]));
  }
  const costOf = async (jobId: string | undefined) =>
    (await call("GET", `/v2/${endpointId}/status/${jobId}?cost=1`)).body["cost"];
  return { agent, endpointId, jobIds, costOf };
}

/** The worker comes up within so many seconds of its placement, and the endpoint knows. */
async function bringUp(agent: ScriptedAgent, endpointId: string, seconds: number): Promise<string> {
  const look = async () => {
    const { assignments, revision } = await agent.sync();
    return assignments[0] ? { ...assignments[0], applied: revision } : notYet(assignments);
  };
  const { workerId, revision, applied } = await until(look, "the host shall have a worker");
  passTime(seconds * 1_000);
  const ready = { workerId, endpointId, revision, state: "ready" as const };
  await agent.sync({
    appliedRevision: applied,
    workers: [{ ...ready, ago: { containerStarted: 900, ready: 0 } }],
  });
  await until(async () => {
    const { body } = await call("GET", `/v2/${endpointId}/health`);
    return (body["workers"] as Record<string, number>)["idle"] === 1 || notYet(body["workers"]);
  }, "the worker is ready");
  return workerId;
}

describe("the cost of jobs", () => {
  test("is that of their execution and of the cold start that the first of them caused", async ({
    expect,
  }) => {
    const { agent, endpointId, jobIds, costOf } = await endpointWithJobs(3);
    expect(await costOf(jobIds[0])).toEqual({ total: 0, execution: 0, coldStart: 0 });
    const workerId = await bringUp(agent, endpointId, 8);
    for (const seconds of [2, 3, 5]) {
      const job = await agent.take(endpointId, workerId);
      passTime(seconds * 1_000);
      await agent.complete(endpointId, job, 1);
    }
    await evict(endpointId);
    const costs = [];
    for (const jobId of jobIds) costs.push(await costOf(jobId));
    // By hand, at 0.001 dollars per second: 8 s of cold start and 2 + 3 + 5 s of execution.
    expect(costs).toEqual([
      { total: 0.01, execution: 0.002, coldStart: 0.008 },
      { total: 0.003, execution: 0.003, coldStart: 0 },
      { total: 0.005, execution: 0.005, coldStart: 0 },
    ]);
    const { body } = await call("GET", `/v2/${endpointId}/status/${jobIds[0]}?timeline=1`);
    expect(body["timeline"]).toContainEqual(
      expect.objectContaining({ event: "taken", perHour: 3.6, startingMs: 8_000 }),
    );
    expect(body).not.toHaveProperty("cost");
  });

  test("of one that runs is that up to now, by the price of its worker now", async ({ expect }) => {
    const { agent, endpointId, jobIds, costOf } = await endpointWithJobs(1);
    const workerId = await bringUp(agent, endpointId, 1);
    await agent.take(endpointId, workerId);
    passTime(4_000);
    expect(await costOf(jobIds[0])).toMatchObject({ execution: 0.004 });
  });

  test.for([
    [{ cost: true }, { total: 0.002, execution: 0.002, coldStart: 0 }],
    [{}, undefined],
  ] as const)("is in the webhook of a job with the policy %j", async ([policy, cost], { expect }) => {
    const { agent, endpointId } = await endpointWithJobs(0);
    const target = webhookTarget();
    const { body } = await call("POST", `/v2/${endpointId}/run`, {
      input: 1,
      webhook: target.webhook,
      policy,
    });
    const workerId = await agent.bringUpWorker(endpointId);
    const job = await agent.take(endpointId, workerId);
    passTime(2_000);
    await agent.complete(endpointId, job, 1);
    await untilWebhooksRest(endpointId);
    const [delivery] = await target.received(1);
    const received = JSON.parse(delivery?.body ?? "{}") as { id?: unknown; cost?: unknown };
    expect([received.id, received.cost]).toEqual([body["id"], cost]);
  });
});
