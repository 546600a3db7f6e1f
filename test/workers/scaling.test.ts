/** An endpoint's workers come with load, go when they are free for long enough, and cost no rows while nothing happens. */
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { DispatchedJob, WorkerState } from "../../src/contract/agent.ts";
import { IDLE_NOTE_AFTER_MS, LEAVE_GAP_MS } from "../../src/contract/limits.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { alarmOf, endpointObject, evict, fireAlarm, passTime } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAsNewAccount } = api;

const SECOND = 1_000;
/** Default of scalerValue. */
const DELAY_MS = 4 * SECOND;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** A host whose workers are ready as soon as they are assigned, and which drops those it should not have. */
class ReadyHost {
  readonly agent: ScriptedAgent;
  readonly #endpointId: string;
  readonly #jobs: DispatchedJob[] = [];

  constructor(agent: ScriptedAgent, endpointId: string) {
    this.agent = agent;
    this.#endpointId = endpointId;
  }

  /** Resolves with the workers that the host shall have, once there are so many and the endpoint knows it. */
  async untilWorkers(count: number, state: WorkerState = "ready"): Promise<string[]> {
    for (;;) {
      const ids = await this.#syncTwice(state);
      const { idle, running, initializing } = await workersOf(this.#endpointId);
      if (ids.length === count && idle + running + initializing === count) return ids;
      await scheduler.wait(5);
    }
  }

  async #syncTwice(state: WorkerState): Promise<string[]> {
    const { revision, assignments } = await this.agent.sync();
    const workers = assignments.map(({ workerId, revision: release }) => ({
      workerId,
      endpointId: this.#endpointId,
      revision: release,
      state,
    }));
    await this.agent.sync({ appliedRevision: revision, workers });
    return assignments.map(({ workerId }) => workerId);
  }

  /** Each of the workers takes as many jobs as it can. */
  async takeJobs(workerIds: readonly string[], free = 1): Promise<number> {
    const slots = workerIds.map((workerId) => ({ workerId, free }));
    const { jobs } = await this.agent.exchange(this.#endpointId, { slots });
    this.#jobs.push(...jobs);
    return jobs.length;
  }

  async completeJobs(): Promise<void> {
    for (const job of this.#jobs.splice(0)) await this.agent.complete(this.#endpointId, job, 1);
  }

  async completeJobOf(workerId: string): Promise<void> {
    const index = this.#jobs.findIndex((job) => job.workerId === workerId);
    for (const job of this.#jobs.splice(index, 1)) await this.agent.complete(this.#endpointId, job, 1);
  }
}

type Counts = { idle: number; running: number; initializing: number; throttled: number };
const workersOf = async (endpointId: string) =>
  (await call("GET", `/v2/${endpointId}/health`)).body["workers"] as Counts;

async function submit(endpointId: string, count: number, options: object = {}): Promise<void> {
  const run = () => call("POST", `/v2/${endpointId}/run`, { input: 1, ...options });
  await Promise.all(Array.from({ length: count }, run));
}

async function save(endpointId: string, settings: string): Promise<void> {
  const input = `id: "${endpointId}", name: "x", gpuIds: "AMPERE_16,AMPERE_24,ADA_24,AMPERE_48", ${settings}`;
  await graphql(`mutation { saveEndpoint(input: { ${input} }) { id } }`);
}

async function open(settings: string): Promise<{ endpointId: string; host: ReadyHost }> {
  const endpointId = await createEndpoint(settings);
  await save(endpointId, "");
  const host = new ReadyHost(await ScriptedAgent.join(api), endpointId);
  await host.agent.sync();
  return { endpointId, host };
}

/** Time passes, and the alarm of the endpoint rings. */
async function later(endpointId: string, ms: number): Promise<void> {
  passTime(ms);
  await fireAlarm(endpointId);
}

/** A burst has brought all workers that are allowed, each with a job, and nothing waits any more. */
async function openBusy(settings: string, workers: number) {
  const { endpointId, host } = await open(settings);
  await submit(endpointId, workers);
  let ids = await host.untilWorkers(1);
  for (let count = 1; count < workers;) {
    count = Math.min(2 * count, workers);
    await later(endpointId, DELAY_MS);
    ids = await host.untilWorkers(count);
  }
  await host.takeJobs(ids);
  return { endpointId, host, ids };
}

describe("scale-out", () => {
  test("QUEUE_DELAY: a burst brings one worker at once, and doubles them with every delay up to workersMax", async ({
    expect,
  }) => {
    const { endpointId, host } = await open("workersMax: 5, idleTimeout: 5");
    await submit(endpointId, 20);
    let before = await host.untilWorkers(1);
    for (const count of [2, 4, 5]) {
      await later(endpointId, DELAY_MS - 1);
      expect(await host.untilWorkers(before.length)).toEqual(before);
      await later(endpointId, 1);
      before = await host.untilWorkers(count);
    }
    await later(endpointId, DELAY_MS);
    expect(await host.untilWorkers(5)).toEqual(before);
  });

  test("REQUEST_COUNT: a burst brings a worker for every scalerValue jobs at once", async () => {
    const { endpointId, host } = await open('workersMax: 5, scalerType: "REQUEST_COUNT", scalerValue: 4');
    await submit(endpointId, 9);
    await host.untilWorkers(3);
    await submit(endpointId, 20);
    await host.untilWorkers(5);
  });

  test("low-priority jobs bring no worker, however many and however old", async ({ expect }) => {
    for (const scalerType of ["QUEUE_DELAY", "REQUEST_COUNT"]) {
      const { endpointId, host } = await open(`workersMax: 5, scalerType: "${scalerType}", scalerValue: 1`);
      await submit(endpointId, 20, { policy: { lowPriority: true } });
      await later(endpointId, DELAY_MS);
      await host.untilWorkers(0);
      await submit(endpointId, 1);
      const ids = await host.untilWorkers(1);
      await later(endpointId, 2 * DELAY_MS);
      expect(await host.untilWorkers(1)).toEqual(ids);
    }
  });

  test("a worker that takes eight jobs at once is not asked for eight times", async ({ expect }) => {
    const { endpointId, host } = await open("workersMax: 5, idleTimeout: 60");
    await submit(endpointId, 1);
    const [first = ""] = await host.untilWorkers(1);
    expect(await host.takeJobs([first], 8)).toBe(1);
    await host.completeJobs();
    await submit(endpointId, 8);
    await later(endpointId, 2 * DELAY_MS);
    expect(await host.untilWorkers(1)).toEqual([first]);
    await evict(endpointId);
    await submit(endpointId, 1);
    await later(endpointId, DELAY_MS);
    await host.untilWorkers(2);
    await later(endpointId, DELAY_MS);
    await host.untilWorkers(2);
  });
});

describe("scale-in", () => {
  for (const isEvicted of [false, true]) {
    const title = "free workers leave one by one after idleTimeout, and workersMin stay";
    test(
      isEvicted ? `${title}, also when the object forgets everything in between` : title,
      async ({ expect }) => {
        const settings = "workersMin: 1, workersMax: 4, idleTimeout: 60";
        const { endpointId, host } = await openBusy(settings, 4);
        await host.completeJobs();
        await later(endpointId, IDLE_NOTE_AFTER_MS);
        if (isEvicted) await evict(endpointId);
        await later(endpointId, 60 * SECOND - IDLE_NOTE_AFTER_MS - 1);
        await host.untilWorkers(4);
        if (isEvicted) await evict(endpointId);
        await later(endpointId, 1);
        await host.untilWorkers(3);
        for (const left of [2, 1, 1]) {
          await later(endpointId, LEAVE_GAP_MS - 1);
          await later(endpointId, 1);
          await host.untilWorkers(left);
        }
        await later(endpointId, 600 * SECOND);
        expect(await host.untilWorkers(1)).toHaveLength(1);
      },
    );
  }

  test("a busy worker stays, and one that was sent away gets no job any more", async ({ expect }) => {
    const { endpointId, host, ids } = await openBusy("workersMax: 2, idleTimeout: 5", 2);
    const [free = "", busy = ""] = ids;
    await host.completeJobOf(free);
    await later(endpointId, 5 * SECOND);
    expect(await host.untilWorkers(1)).toEqual([busy]);
    await later(endpointId, 60 * SECOND);
    expect(await host.untilWorkers(1)).toEqual([busy]);

    await submit(endpointId, 1);
    expect(await host.takeJobs([free])).toBe(0);
    await host.completeJobOf(busy);
    expect(await host.takeJobs([busy])).toBe(1);
  });

  test("a lower workersMax takes the free workers first, and the busy one after its job", async ({
    expect,
  }) => {
    const { endpointId, host, ids } = await openBusy("workersMax: 4, idleTimeout: 60", 4);
    const [a = "", b = "", c = "", d = ""] = ids;
    await host.completeJobOf(b);
    await host.completeJobOf(d);
    await save(endpointId, "workersMax: 2");
    expect((await host.untilWorkers(2)).toSorted()).toEqual([a, c].toSorted());

    await save(endpointId, "workersMax: 1");
    await submit(endpointId, 2);
    await host.untilWorkers(2);
    await host.completeJobs();
    expect(await host.takeJobs([a, c])).toBe(1);
    await host.untilWorkers(1);
    await host.completeJobs();
    expect(await host.takeJobs([a, c])).toBe(1);
  });
});

test("a burst writes few rows for scaling, and an idle endpoint none", async ({ expect }) => {
  const settings = "workersMin: 1, workersMax: 4, idleTimeout: 5";
  const { endpointId, host } = await open(settings);
  await host.untilWorkers(1);
  const stub = endpointObject(endpointId);
  const rows = async () => (await stub.vitals()).rowsWritten;
  const before = await rows();

  await submit(endpointId, 4);
  await later(endpointId, DELAY_MS);
  const two = await host.untilWorkers(2);
  await later(endpointId, DELAY_MS);
  const ids = await host.untilWorkers(4);
  expect(two.every((workerId) => ids.includes(workerId))).toBe(true);
  await host.takeJobs(ids);
  await host.completeJobs();
  const out = await rows();
  await later(endpointId, 5 * SECOND);
  for (const left of [3, 2, 1]) {
    await host.untilWorkers(left);
    await later(endpointId, LEAVE_GAP_MS);
  }
  const done = await rows();
  console.info(
    `rows written by a burst of 4 jobs: ${out - before} until they end, ${done - out} until 3 workers left`,
  );

  await later(endpointId, 180 * SECOND); // leases are over
  const quiet = await rows();
  await stub.health();
  expect(out - before).toBeLessThan(25);
  expect(done - out).toBeLessThan(25);
  expect(await rows()).toBe(quiet);
  expect(await alarmOf(endpointId)).toBeGreaterThan(Date.now() + 20 * 60 * SECOND); // when results are removed
});
