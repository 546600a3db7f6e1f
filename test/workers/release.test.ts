/** What a changed endpoint or template does to its workers: they are replaced one by one, and no job is lost. */
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { Assignment, DispatchedJob, WorkerState } from "../../src/contract/agent.ts";
import { RELEASE_HOLD_MS } from "../../src/contract/limits.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { bellOf, evict, fireAlarm, fleetObject, passTime } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

async function change(endpointId: string, fields: string): Promise<void> {
  await graphql(`mutation { saveEndpoint(input: { id: "${endpointId}", ${fields} }) { id } }`);
}

let releases = 1;
async function release(endpointId: string): Promise<void> {
  releases += 1;
  await change(endpointId, `env: [{ key: "A", value: "${releases}" }]`);
}

const run = async (endpointId: string) => await call("POST", `/v2/${endpointId}/run`, { input: {} });
const health = async (endpointId: string) => (await call("GET", `/v2/${endpointId}/health`)).body;
const rollOf = async (endpointId: string) => (await health(endpointId))["release"];

/** A host whose workers come up as a test says. */
class Host {
  readonly agent: ScriptedAgent;
  readonly #endpointId: string;
  readonly #gpus: number;
  readonly #states = new Map<string, { state: WorkerState; detail: string }>();

  constructor(agent: ScriptedAgent, endpointId: string, gpus: number) {
    this.agent = agent;
    this.#endpointId = endpointId;
    this.#gpus = gpus;
  }

  set(workerId: string, state: WorkerState, detail = `It is ${state}.`): void {
    this.#states.set(workerId, { state, detail });
  }

  async sync(): Promise<Assignment[]> {
    const [first] = INVENTORY.gpus;
    if (!first) throw new Error("There is no GPU.");
    const gpus = Array.from({ length: this.#gpus }, (_, index) => ({ ...first, index }));
    const inventory = { ...INVENTORY, gpus };
    const { revision, assignments } = await this.agent.sync({ inventory });
    const workers = assignments.map(({ workerId, revision: version }) => {
      const known = this.#states.get(workerId) ?? { state: "starting" as const };
      return { workerId, endpointId: this.#endpointId, revision: version, ...known };
    });
    await this.agent.sync({ inventory, appliedRevision: revision, workers });
    return assignments;
  }

  /** Resolves with the workers that the host shall have, once these are of the versions, in any order. */
  async until(...versions: number[]): Promise<string[]> {
    for (;;) {
      const assignments = await this.sync();
      const found = assignments.toSorted((a, b) => a.revision - b.revision);
      if (found.map(({ revision }) => revision).join() === versions.join()) {
        return found.map(({ workerId }) => workerId);
      }
      await scheduler.wait(5);
    }
  }

  /** Resolves once the endpoint knows that so many workers are ready. */
  async untilReady(count: number): Promise<void> {
    for (;;) {
      await this.sync();
      const { idle, running } = (await health(this.#endpointId))["workers"] as Record<string, number>;
      if ((idle ?? 0) + (running ?? 0) === count) return;
      await scheduler.wait(5);
    }
  }

  async offer(...workerIds: string[]): Promise<readonly DispatchedJob[]> {
    const slots = workerIds.map((workerId) => ({ workerId, free: 1 }));
    return (await this.agent.exchange(this.#endpointId, { slots })).jobs;
  }

  /** Ends a job and offers its worker again, as agents do, in one exchange. */
  async completeAndOffer({ id: jobId, attempt, workerId }: DispatchedJob): Promise<readonly DispatchedJob[]> {
    const reports = [{ kind: "completed" as const, jobId, attempt, workerId, output: 1 }];
    const slots = [{ workerId, free: 1 }];
    return (await this.agent.exchange(this.#endpointId, { reports, slots })).jobs;
  }
}

/** An endpoint with as many ready workers as it has at least, on a host with so many GPUs. */
async function standing(workers = 1, gpus = 4) {
  const endpointId = await createEndpoint(`workersMin: ${workers}, workersMax: ${workers}`);
  const host = new Host(await ScriptedAgent.join(api), endpointId, gpus);
  const ids = await host.until(...Array.from({ length: workers }, () => 1));
  for (const workerId of ids) host.set(workerId, "ready");
  await host.untilReady(workers);
  const [workerId = ""] = ids;
  return { endpointId, host, ids, workerId };
}

/** The same, with a job in each worker and jobs that wait. */
async function busy(workers: number, gpus: number) {
  const { endpointId, host, ids, workerId } = await standing(workers, gpus);
  for (let job = 0; job < workers + 4; job += 1) await run(endpointId);
  const jobs = await host.offer(...ids);
  return { endpointId, host, ids, workerId, jobs };
}

describe("an endpoint without jobs", () => {
  test("gives the next job to a worker of the new release, and then lets the old one go", async ({
    expect,
  }) => {
    const { endpointId, host, workerId } = await standing();
    await release(endpointId);
    const { body } = await run(endpointId);
    expect(await host.offer(workerId)).toEqual([]);

    const [, successor = ""] = await host.until(1, 2);
    host.set(successor, "ready");
    expect(await host.until(2)).toEqual([successor]);
    expect(await host.offer(workerId, successor)).toMatchObject([{ id: body["id"], workerId: successor }]);
  });

  test("gives none to an agent either that waits on a doorbell with a worker of before", async ({
    expect,
  }) => {
    const { endpointId, host, workerId } = await standing();
    passTime(60_000); // the object is quiet, so that who waits waits outside
    await host.sync();
    const slots = [{ workerId, free: 1 }];
    const waiting = host.agent.exchange(endpointId, { slots, holdMs: 1_000 });
    await bellOf(endpointId, "agent");
    await release(endpointId);
    await run(endpointId);
    expect((await waiting).jobs).toEqual([]);
  });

  for (const isEvicted of [false, true]) {
    const title = "gives it to the old worker when the new one takes too long";
    test(isEvicted ? `${title}, also when the object forgets in between` : title, async ({ expect }) => {
      const { endpointId, host, workerId } = await standing();
      await release(endpointId);
      await run(endpointId);
      await host.until(1, 2);
      if (isEvicted) await evict(endpointId);
      passTime(RELEASE_HOLD_MS - 1);
      await host.sync();
      expect(await host.offer(workerId)).toEqual([]);
      passTime(1);
      await fireAlarm(endpointId);
      expect(await host.offer(workerId)).toMatchObject([{ workerId }]);
    });
  }

  test("gives it to the old worker at once when the new one fails, and says so", async ({ expect }) => {
    const { endpointId, host, workerId } = await standing();
    await release(endpointId);
    const { body } = await run(endpointId);
    const [, broken = ""] = await host.until(1, 2);
    const waiting = host.agent.take(endpointId, workerId);
    host.set(broken, "crash_looping", "It exits with code 3.");
    await host.sync();
    expect(await waiting).toMatchObject({ id: body["id"], workerId });
    const { myself } = await graphql<{ myself: { endpoint: { rollout: unknown } } }>(
      `{ myself { endpoint(id: "${endpointId}") { rollout {
        inProgress oldestVersion workersOnLatest workersTotal percentOnLatest reason } } } }`,
    );
    expect(myself.endpoint.rollout).toEqual({
      inProgress: true,
      oldestVersion: 1,
      workersOnLatest: 1,
      workersTotal: 2,
      percentOnLatest: 50,
      reason: "It exits with code 3.",
    });
    expect(await rollOf(endpointId)).toMatchObject({
      from: 1,
      to: 2,
      outdated: 1,
      current: 1,
      ready: 0,
      stalledSince: new Date().toISOString(),
      reason: "It exits with code 3.",
    });
  });
});

describe("an endpoint with jobs", () => {
  test("works on while new workers come up, each of which replaces one that is out of jobs", async ({
    expect,
  }) => {
    const { endpointId, host, ids, jobs } = await busy(2, 3);
    await release(endpointId);
    const [, , first = ""] = await host.until(1, 1, 2);
    const [one, two] = jobs;
    if (!one || !two) throw new Error("There were no jobs.");
    const [next] = await host.completeAndOffer(one);
    expect(next).toMatchObject({ workerId: one.workerId });

    host.set(first, "ready");
    await host.untilReady(3);
    expect(await host.completeAndOffer(two)).toEqual([]);
    const [stays = "", , second = ""] = await host.until(1, 2, 2);
    expect(ids).toContain(stays);
    expect(await host.offer(first)).toHaveLength(1);
    expect(await rollOf(endpointId)).toMatchObject({ outdated: 1, current: 2, ready: 1, stalledSince: null });

    host.set(second, "ready");
    await host.untilReady(3);
    if (!next) throw new Error("There was no other job.");
    expect(await host.completeAndOffer(next)).toEqual([]);
    expect((await host.until(2, 2)).toSorted()).toEqual([first, second].toSorted());
    expect(await rollOf(endpointId)).toBeNull();
    expect((await health(endpointId))["jobs"]).toMatchObject({ failed: 0, retried: 0 });
  });

  test("whose workers have all GPUs gives one up, that which is first without a job", async ({ expect }) => {
    const { endpointId, host, jobs } = await busy(2, 2);
    await release(endpointId);
    const [one, two] = jobs;
    if (!one || !two) throw new Error("There were no jobs.");
    await until(async () => await rollOf(endpointId), Boolean);
    await host.until(1, 1);
    await until(
      async () => await host.completeAndOffer(two),
      (given) => given.length === 0,
    );
    const [stays = "", successor = ""] = await host.until(1, 2);
    expect(stays).toBe(one.workerId);
    expect(await host.completeAndOffer(one)).toHaveLength(1);
    host.set(successor, "ready");
    await host.untilReady(2);
    expect(await rollOf(endpointId)).toMatchObject({ outdated: 1, ready: 1 });
  });

  test("is not harmed by a release that fails, and rolls on with the next one", async ({ expect }) => {
    const { endpointId, host, ids, jobs } = await busy(2, 3);
    await release(endpointId);
    const [, , broken = ""] = await host.until(1, 1, 2);
    host.set(broken, "crash_looping");
    await host.sync();
    for (const job of jobs) expect(await host.completeAndOffer(job)).toHaveLength(1);

    await release(endpointId);
    const [, , good = ""] = await host.until(1, 1, 3);
    expect(ids).not.toContain(good);
    expect(await rollOf(endpointId)).toMatchObject({ from: 1, to: 3, outdated: 2, stalledSince: null });
  });

  test("says what is in the way when no host is right for the new release, and keeps its workers", async ({
    expect,
  }) => {
    const { endpointId, host, jobs } = await busy(2, 3);
    await change(endpointId, 'gpuIds: "ADA_80_PRO"');
    await until(
      async () => (await rollOf(endpointId)) as { stalledSince: string | null } | null,
      (roll) => roll?.stalledSince !== null && roll?.stalledSince !== undefined,
    );
    expect(await rollOf(endpointId)).toMatchObject({
      outdated: 2,
      reason: expect.stringContaining("ADA_80_PRO"),
    });
    for (const job of jobs) expect(await host.completeAndOffer(job)).toHaveLength(1);
    await host.until(1, 1);
  });
});

async function until<T>(look: () => Promise<T>, isThere: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await look();
    if (isThere(value)) return value;
    await scheduler.wait(5);
  }
}

describe("an endpoint that allows no workers", () => {
  test("hands out nothing, also to one that still stands", async ({ expect }) => {
    const { endpointId, host, workerId } = await standing();
    await change(endpointId, "workersMin: 0, workersMax: 0");
    await run(endpointId);
    expect(await host.offer(workerId)).toEqual([]);
    expect(await health(endpointId)).toMatchObject({ jobs: { inQueue: 1 } });
  });

  test("in the middle of a release lets all go, and comes back with the new one", async ({ expect }) => {
    const { endpointId, host, workerId, jobs } = await busy(1, 2);
    await release(endpointId);
    await host.until(1, 2);
    await change(endpointId, "workersMin: 0, workersMax: 0");
    await host.until(1);
    const [job] = jobs;
    expect(job && (await host.completeAndOffer(job))).toEqual([]);
    await host.until();
    await change(endpointId, "workersMax: 1");
    expect(await host.until(2)).not.toContain(workerId);
  });

  test("lets an agent know that waits for a worker at its job when they are allowed again", async ({
    expect,
  }) => {
    const { endpointId, host, workerId } = await standing();
    await run(endpointId);
    await host.agent.take(endpointId, workerId);
    await change(endpointId, "workersMin: 0, workersMax: 0");
    const { body } = await run(endpointId);
    const slots = [{ workerId, free: 1 }];
    const waiting = host.agent.exchange(endpointId, { slots, holdMs: 10_000 });
    await change(endpointId, "workersMax: 3");
    expect((await waiting).jobs).toMatchObject([{ id: body["id"], workerId }]);
  });
});

describe("a change that leaves workers as they are", () => {
  test("keeps them at work", async ({ expect }) => {
    const { endpointId, host, workerId } = await standing();
    await change(endpointId, "idleTimeout: 9, executionTimeoutMs: 7000");
    await run(endpointId);
    expect(await host.agent.take(endpointId, workerId)).toMatchObject({
      workerId,
      executionTimeoutMs: 7_000,
    });
    expect(await fleetObject().workersOf([endpointId])).toMatchObject([{ workerId }]);
  });

  test("is no release: other words for people, and values that are what they were", async ({ expect }) => {
    const { endpointId } = await standing();
    const selection = "myself { endpoints { id version templateId name gpuIds workersMin workersMax } }";
    type Listed = { id: string; version: number; templateId: string; name: string; gpuIds: string };
    const read = async () => {
      const { myself } = await graphql<{ myself: { endpoints: Listed[] } }>(`{ ${selection} }`);
      const [found] = myself.endpoints.filter(({ id }) => id === endpointId);
      if (!found) throw new Error("The endpoint is gone.");
      return found;
    };
    const { version, templateId, name, gpuIds } = await read();
    const saveTemplate = async (fields: string) => {
      await graphql(`mutation { saveTemplate(input: { id: "${templateId}", ${fields} }) { id } }`);
    };
    await saveTemplate(`name: "${name} with another name", readme: "# Other words"`);
    await saveTemplate('imageName: "test:1", containerDiskInGb: 5, dockerArgs: "", env: []');
    const same = `name: "${name}", gpuIds: "${gpuIds}", templateId: "${templateId}", env: [], locations: ""`;
    await change(endpointId, `${same}, workersMin: 1, workersMax: 2`);
    expect((await read()).version).toBe(version);
    expect(await rollOf(endpointId)).toBeNull();

    await saveTemplate('imageName: "test:2"');
    expect((await read()).version).toBe(version + 1);
  });
});
