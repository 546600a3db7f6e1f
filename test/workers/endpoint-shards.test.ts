import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, test, vi } from "vitest";
import type { DispatchedJob, ExchangeRequest } from "../../src/contract/agent/agent.ts";
import { shardOfJob } from "../../src/contract/job.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { alarmOf, endpointObject, evict, fireAlarm, kill, passTime } from "./object.ts";
import { notYet, until } from "./support/until.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const objectOf = (endpointId: string, shard: number) => env.ENDPOINT.getByName(`${endpointId}#${shard}`);

async function submit(endpointId: string, headers: Record<string, string> = {}): Promise<string> {
  const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 }, headers);
  return String(body["id"]);
}

/** So many jobs, and their ids. */
async function submitMany(endpointId: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let left = count; left > 0; left -= 1) ids.push(await submit(endpointId));
  return ids;
}

/** Has so many objects take jobs; resolves once they do. */
async function split(endpointId: string, count: number): Promise<void> {
  await call("GET", `/v2/${endpointId}/health`); // it is configured then
  await objectOf(endpointId, 0).resize(count);
  const look = async () => {
    const state = await stateOf(endpointId);
    return state?.active === count || notYet(state);
  };
  await until(look, `${count} objects take jobs`);
}

type State = { readonly active: number; readonly loans: Record<string, Loan> };
type Loan = { readonly shard: number; readonly isReturning: boolean };

async function stateOf(endpointId: string): Promise<State | undefined> {
  const rows = await runInDurableObject(endpointObject(endpointId), (_, { storage }) =>
    storage.sql.exec<{ json: string }>("SELECT json FROM fact WHERE name = 'shards'").toArray(),
  );
  return rows[0] && (JSON.parse(rows[0].json) as State);
}

const countRows = (endpointId: string, shard: number): Promise<number> =>
  runInDurableObject(objectOf(endpointId, shard), (_, { storage }) =>
    Number(storage.sql.exec("SELECT count(*) AS count FROM job").one()["count"]),
  );

/** An agent that knows of objects, with what it holds of each. */
class ShardAgent {
  readonly agent: ScriptedAgent;
  readonly #endpointId: string;
  readonly #held = new Map<string, DispatchedJob>();
  #number = 0;
  /** Where workers belong that do not belong to the first object. */
  loans = new Map<string, number>();

  constructor(agent: ScriptedAgent, endpointId: string) {
    this.agent = agent;
    this.#endpointId = endpointId;
  }

  async exchange(shard: number, request: Partial<ExchangeRequest> = {}) {
    const held = [...this.#held.values()]
      .filter(({ id }) => shardOfJob(id) === shard)
      .map(({ id: jobId, attempt, workerId }) => ({ jobId, attempt, workerId }));
    const about = shard === 0 ? { shards: this.#number } : { shard };
    const reply = await this.agent.exchange(this.#endpointId, { held, ...about, ...request });
    for (const job of reply.jobs) this.#held.set(job.id, job);
    if (!reply.shards) return reply;
    this.#number = reply.shards.number;
    this.loans = new Map(reply.shards.workers);
    return reply;
  }

  /** Offers each worker where it belongs, and completes what it gets, until `isOver`. */
  async work(workerIds: readonly string[], isOver: () => Promise<boolean>): Promise<void> {
    const look = async () => {
      await this.exchange(0);
      for (const workerId of workerIds) {
        const shard = this.loans.get(workerId) ?? 0;
        const { jobs } = await this.exchange(shard, { slots: [{ workerId, free: 1 }] });
        for (const job of jobs) await this.complete(job);
      }
      passTime(100);
      return (await isOver()) || notYet([...this.loans]);
    };
    await until(look, "the agent has done its work");
  }

  async complete(job: DispatchedJob): Promise<void> {
    this.#held.delete(job.id);
    const { id: jobId, attempt, workerId } = job;
    const reports = [{ kind: "completed" as const, jobId, attempt, workerId, output: shardOfJob(jobId) }];
    const { acks } = await this.exchange(shardOfJob(jobId), { reports });
    if (acks[0]?.outcome !== "accepted") throw new Error("The result was not accepted.");
  }
}

async function bringUp(endpointId: string, count: number) {
  const agent = await ScriptedAgent.join(api);
  const workerIds = await agent.bringUpWorkers(endpointId, count);
  return { agent: new ShardAgent(agent, endpointId), workerIds };
}

test("jobs are spread over the objects, and each is read and cancelled where it is", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMax: 0");
  await submit(endpointId);
  await split(endpointId, 3);
  const ids = await submitMany(endpointId, 60);
  const byShard = Map.groupBy(ids, shardOfJob);
  expect(new Set(byShard.keys())).toEqual(new Set([0, 1, 2]));
  for (const ofShard of byShard.values()) expect(ofShard.length).toBeGreaterThan(10);
  for (const id of ids) {
    const { status, body } = await call("GET", `/v2/${endpointId}/status/${id}`);
    expect([status, body["status"]]).toEqual([200, "IN_QUEUE"]);
  }
  for (const [shard, [id = ""]] of byShard) {
    const { body } = await call("POST", `/v2/${endpointId}/cancel/${id}`);
    expect([shard, body["status"]]).toEqual([shard, "CANCELLED"]);
  }
});

test("health, lists, metrics and purges are those of all objects", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMax: 0");
  await split(endpointId, 3);
  const ids: string[] = [];
  for (let left = 24; left > 0; left -= 1) {
    ids.push(await submit(endpointId));
    passTime(10);
  }
  const inQueue = async () => {
    const { body } = await call("GET", `/v2/${endpointId}/health`);
    const { inQueue: count } = body["jobs"] as { inQueue: number };
    passTime(500);
    for (const shard of [1, 2]) await objectOf(endpointId, shard).vitals(); // messages go out with the turns of others
    return count === 24 || notYet(body["jobs"]);
  };
  await until(inQueue, "the first object knows of all jobs");
  const { body: page } = await call("GET", `/v2/${endpointId}/requests?limit=10&offset=5`);
  expect(page).toMatchObject({ total: 24, hasMore: true, offset: 5, limit: 10 });
  const listed = (page["requests"] as { id: string }[]).map(({ id }) => id);
  expect(listed).toEqual(ids.toReversed().slice(5, 15));
  const { body: metrics } = await call("GET", `/v2/${endpointId}/metrics/requests?window=1h`);
  expect(metrics).toMatchObject({ requests: 24 });
  const { body: purged } = await call("POST", `/v2/${endpointId}/purge-queue`);
  expect(purged).toEqual({ removed: 24, status: "completed" });
  const { body: after } = await call("GET", `/v2/${endpointId}/metrics/requests?window=1h`);
  expect(after).toMatchObject({ requests: 24, cancelled: 24 });
});

test("an idempotency key finds its job however many objects there are", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMax: 0");
  const first = await submit(endpointId, { "Idempotency-Key": "one" });
  await split(endpointId, 4);
  await submitMany(endpointId, 4);
  const again = await Promise.all(
    Array.from({ length: 8 }, () => submit(endpointId, { "Idempotency-Key": "one" })),
  );
  expect(new Set(again)).toEqual(new Set([first]));
  const others = await Promise.all(
    Array.from({ length: 8 }, () => submit(endpointId, { "Idempotency-Key": "two" })),
  );
  expect(new Set(others).size).toBe(1);
});

test("workers go where jobs wait, and all jobs are completed, also after a merge", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMin: 2, workersMax: 2, idleTimeout: 5");
  const { agent, workerIds } = await bringUp(endpointId, 2);
  await agent.exchange(0); // it is known to move workers
  await split(endpointId, 3);
  const ids = await submitMany(endpointId, 30);
  await objectOf(endpointId, 0).resize(1);
  const areAllOver = async () => {
    const { body } = await call("GET", `/v2/${endpointId}/health`);
    return (body["jobs"] as { completed: number }).completed === 30;
  };
  await agent.work(workerIds, areAllOver);
  for (const id of ids) {
    const { body } = await call("GET", `/v2/${endpointId}/status/${id}`);
    expect(body).toMatchObject({ status: "COMPLETED", output: shardOfJob(id) });
  }
  expect(new Set(ids.map(shardOfJob))).toEqual(new Set([0, 1, 2]));
  const late = await submitMany(endpointId, 6);
  const still = await submitMany(endpointId, 6);
  expect(new Set([...late, ...still].slice(3).map(shardOfJob))).toEqual(new Set([0])); // the edge has heard of it
});

test("workers return after their idle timeout, and then may be scaled down", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMin: 0, workersMax: 2, idleTimeout: 5");
  const first = await submit(endpointId);
  const { agent, workerIds } = await bringUp(endpointId, 1);
  await agent.exchange(0);
  await split(endpointId, 2);
  const ids = [first, ...(await submitMany(endpointId, 12))];
  const isOver = async () => {
    const { body } = await call("GET", `/v2/${endpointId}/health`);
    return (body["jobs"] as { completed: number }).completed === ids.length;
  };
  await agent.work(workerIds, isOver);
  const isHome = async () => Object.keys((await stateOf(endpointId))?.loans ?? {}).length === 0;
  await agent.work(workerIds, isHome);
  const isGone = async () => {
    passTime(1_000);
    await fireAlarm(endpointId);
    const { assignments } = await agent.agent.sync();
    return assignments.length === 0 || notYet(assignments);
  };
  await until(isGone, "the worker is scaled down");
  expect(await isHome()).toBe(true);
});

test("a worker that ended a short job just after it was lent is asked back", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMin: 0, workersMax: 1, idleTimeout: 5");
  const ids = [await submit(endpointId)];
  const { agent, workerIds } = await bringUp(endpointId, 1);
  await split(endpointId, 2);
  const isOver = async () => {
    const { body } = await call("GET", `/v2/${endpointId}/health`);
    return (body["jobs"] as { completed: number }).completed === ids.length;
  };
  const loans = async () => Object.values((await stateOf(endpointId))?.loans ?? {});
  await agent.work(workerIds, isOver);
  while ((await loans())[0]?.isReturning !== false) {
    ids.push(await submit(endpointId));
    await agent.work(workerIds, isOver);
  }
  const isAskedBack = async () => {
    const waitMs = ((await alarmOf(endpointId)) ?? Infinity) - Date.now();
    expect(waitMs).toBeLessThan(6_000);
    passTime(Math.max(0, waitMs));
    await fireAlarm(endpointId);
    return (await loans())[0]?.isReturning || notYet(waitMs);
  };
  await until(isAskedBack, "the worker is asked back");
});

test("agents that know of no other objects keep their workers at the first one", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMin: 1, workersMax: 1");
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  await split(endpointId, 2);
  await submitMany(endpointId, 8);
  for (let round = 0; round < 5; round += 1) {
    passTime(1_000);
    await agent.exchange(endpointId, { slots: [] });
  }
  expect((await stateOf(endpointId))?.loans).toEqual({});
  expect((await agent.take(endpointId, workerId)).workerId).toBe(workerId);
});

test("objects that lose their memory, or die, lose no job and no worker", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMin: 2, workersMax: 2, idleTimeout: 5");
  const { agent, workerIds } = await bringUp(endpointId, 2);
  await agent.exchange(0);
  await split(endpointId, 3);
  const ids = await submitMany(endpointId, 24);
  let round = 0;
  const areAllOver = async () => {
    round += 1;
    if (round === 2) await kill(endpointId);
    if (round === 3) await evict(endpointId);
    if (round === 4) await evictDurableObject(objectOf(endpointId, 1));
    if (round === 5)
      await runInDurableObject(objectOf(endpointId, 2), (_, state) => state.abort("killed")).catch(() => {});
    await fireAlarm(endpointId);
    const { body } = await call("GET", `/v2/${endpointId}/health`);
    return (body["jobs"] as { completed: number }).completed === 24;
  };
  await agent.work(workerIds, areAllOver);
  for (const id of ids) {
    const { body } = await call("GET", `/v2/${endpointId}/status/${id}`);
    expect(body).toMatchObject({ status: "COMPLETED", output: shardOfJob(id) });
  }
  expect(round).toBeGreaterThan(5);
});

test("a deleted endpoint leaves no rows in any object, and ids of objects that never were find nothing", async ({
  expect,
}) => {
  const endpointId = await createEndpoint("workersMax: 0");
  await split(endpointId, 3);
  const [id = ""] = await submitMany(endpointId, 12);
  const { status } = await call("GET", `/v2/${endpointId}/status/${id.replace(/-s\d+$/, "-s9")}`);
  expect(status).toBe(404);
  const far = await call("GET", `/v2/${endpointId}/status/${id.replace(/-s\d+$/, "-s9999")}`);
  expect(far.status).toBe(404);
  await graphql(`mutation { deleteEndpoint(id: "${endpointId}") }`);
  const isEmpty = async () => {
    const counts = [await countRows(endpointId, 1), await countRows(endpointId, 2)];
    return counts.every((count) => count === 0) || notYet(counts);
  };
  await until(isEmpty, "the objects are empty");
});

test("a template or limit that changes is known to all objects", async () => {
  const endpointId = await createEndpoint("workersMax: 0");
  await split(endpointId, 2);
  await graphql(
    `mutation { saveEndpoint(input: { id: "${endpointId}", name: "other", workersMax: 7 }) { id } }`,
  );
  const isKnown = async () => {
    const rows = await runInDurableObject(objectOf(endpointId, 1), (_, { storage }) =>
      storage.sql.exec<{ json: string }>("SELECT json FROM fact WHERE name = 'config'").toArray(),
    );
    const config = JSON.parse(rows[0]?.json ?? "{}") as { workersMax?: number; shard?: number };
    return (config.workersMax === 7 && config.shard === 1) || notYet(config);
  };
  await until(isKnown, "the other object has the limit");
});

test("an endpoint with many calls gets more objects by itself", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMax: 0");
  await submit(endpointId);
  const object = objectOf(endpointId, 0);
  await Promise.all(Array.from({ length: 3_600 }, () => object.health()));
  passTime(10_000);
  await object.health();
  await submit(endpointId);
  const hasGrown = async () => {
    const state = await stateOf(endpointId);
    return state?.active === 2 || notYet(state);
  };
  await until(hasGrown, "two objects take jobs");
  expect((await stateOf(endpointId))?.loans).toEqual({});
});
