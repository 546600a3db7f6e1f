/** FLASHBOOT: workers that are let go are kept on standby, and run again before others are placed. */
import { runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { Assignment, WorkerReport } from "../../src/contract/agent.ts";
import { FLASHBOOT_KEEP_MS, LEAVE_GAP_MS } from "../../src/contract/limits.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { configOf, evict, fireAlarm, fleetObject, passTime } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAsNewAccount } = api;

const FLASHBOOT = "workersMax: 2, idleTimeout: 5, flashBootType: FLASHBOOT";
const SECOND = 1_000;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** A host that does at once what it is told: runs workers, freezes them, removes them. */
class ObedientHost {
  readonly agent: ScriptedAgent;
  readonly #inventory: object;
  assignments: readonly Assignment[] = [];

  private constructor(agent: ScriptedAgent, inventory: object) {
    this.agent = agent;
    this.#inventory = inventory;
  }

  static async join(inventory: object = {}): Promise<ObedientHost> {
    const host = new ObedientHost(await ScriptedAgent.join(api), {
      ...INVENTORY,
      canFreeze: true,
      ...inventory,
    });
    await host.sync();
    return host;
  }

  /** Hears what it should have, does it and says so. */
  async sync(): Promise<readonly Assignment[]> {
    const inventory = this.#inventory as typeof INVENTORY;
    const reply = await this.agent.sync({ inventory });
    this.assignments = reply.assignments;
    const workers = reply.assignments.map(({ workerId, endpointId, revision, mode }): WorkerReport => ({
      workerId,
      endpointId,
      revision,
      ...(mode === "standby" ? { state: "stopping", isStandby: true } : { state: "ready" }),
    }));
    await this.agent.sync({ inventory, appliedRevision: reply.revision, workers });
    return reply.assignments;
  }

  /** Resolves when the host shall have exactly these modes. */
  async until(...modes: readonly ("run" | "standby")[]): Promise<readonly Assignment[]> {
    for (;;) {
      const assignments = await this.sync();
      const found = assignments.map(({ mode = "run" }) => mode).toSorted();
      if (JSON.stringify(found) === JSON.stringify(modes.toSorted())) return assignments;
      await scheduler.wait(5);
    }
  }

  /** A job of the endpoint runs through one of its workers. */
  async work(endpointId: string): Promise<string> {
    const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    for (;;) {
      const running = (await this.sync()).filter((each) => each.endpointId === endpointId && !each.mode);
      const slots = running.map(({ workerId }) => ({ workerId, free: 1 }));
      const { jobs } = await this.agent.exchange(endpointId, { slots });
      const [job] = jobs;
      if (job) {
        await this.agent.complete(endpointId, job, 1);
        const status = await call("GET", `/v2/${endpointId}/status/${String(body["id"])}`);
        if (status.body["status"] === "COMPLETED") return job.workerId;
      }
      await scheduler.wait(5);
    }
  }
}

/** The endpoint has been idle for idleTimeout, which begins when it knows that its worker is ready. */
async function idle(endpointId: string): Promise<void> {
  while ((await health(endpointId)).idle === 0) await scheduler.wait(5);
  passTime(5 * SECOND);
  await fireAlarm(endpointId);
}

/** An endpoint whose one worker is on standby. */
async function openStandby(settings = FLASHBOOT, host?: ObedientHost) {
  const endpointId = await createEndpoint(settings);
  const own = host ?? (await ObedientHost.join());
  const workerId = await own.work(endpointId);
  await idle(endpointId);
  return { endpointId, host: own, workerId };
}

/** How long the endpoint had workers, as it is billed. */
async function usedMs(endpointId: string): Promise<number> {
  const span = { since: 0, until: Number.MAX_SAFE_INTEGER, storedUntil: 0 };
  const hours = await env.FLEET.getByName("default").usage(span);
  return hours.filter((hour) => hour.endpointId === endpointId).reduce((sum, hour) => sum + hour.workerMs, 0);
}

const health = async (endpointId: string) =>
  (await call("GET", `/v2/${endpointId}/health`)).body["workers"] as { readonly idle: number };

const save = (endpointId: string, settings: string) =>
  graphql(
    `mutation { saveEndpoint(input: { id: "${endpointId}", name: "x", gpuIds: "AMPERE_16", ${settings} }) { id } }`,
  );

describe("a worker that an endpoint with FLASHBOOT lets go", () => {
  test("is kept on standby, counts as no worker, and runs the next job", async ({ expect }) => {
    const { endpointId, host, workerId } = await openStandby();
    expect(await host.until("standby")).toMatchObject([{ workerId, mode: "standby" }]);
    expect(await health(endpointId)).toEqual({
      idle: 0,
      initializing: 0,
      ready: 0,
      running: 0,
      throttled: 0,
      unhealthy: 0,
    });
    const { myself } = await graphql<{ myself: { endpoints: { workersStandby: number; pods: unknown }[] } }>(
      "query { myself { endpoints { workersStandby pods { id desiredStatus runtime { uptimeInSeconds } } } } }",
    );
    expect(myself.endpoints).toEqual([
      { workersStandby: 1, pods: [{ id: workerId, desiredStatus: "EXITED", runtime: null }] },
    ]);

    for (let round = 0; round < 3; round += 1) {
      expect(await host.work(endpointId)).toBe(workerId);
      await idle(endpointId);
      await host.until("standby");
      await evict(endpointId);
    }
  });

  test("says worker_starting until it is there again, and its second start is in the timeline", async ({
    expect,
  }) => {
    const { endpointId, host, workerId } = await openStandby();
    await host.until("standby");
    const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const id = String(body["id"]);
    for (;;) {
      const { assignments } = await host.agent.sync({ inventory: { ...INVENTORY, canFreeze: true } });
      if (assignments[0]?.mode === undefined) break;
      await scheduler.wait(5);
    }
    const waiting = await call("GET", `/v2/${endpointId}/status/${id}`);
    expect(waiting.body["queue"]).toMatchObject({ reason: "worker_starting" });
    // An agent that has not heard of it yet still says that the worker is frozen.
    const report = { workerId, endpointId, revision: 1, state: "stopping", isStandby: true } as const;
    await host.agent.sync({ inventory: { ...INVENTORY, canFreeze: true }, workers: [report] });
    expect(await health(endpointId)).toMatchObject({ initializing: 1 });

    passTime(100);
    await host.agent.sync({
      inventory: { ...INVENTORY, canFreeze: true },
      workers: [
        { workerId, endpointId, revision: 1, state: "ready", ago: { containerStarted: 40, ready: 10 } },
      ],
    });
    const job = await host.agent.take(endpointId, workerId);
    await host.agent.complete(endpointId, job, 1);
    const { body: timeline } = await call("GET", `/v2/${endpointId}/requests/${id}`);
    const { body: done } = await call("GET", `/v2/${endpointId}/status/${id}?timeline=true`);
    const events = JSON.stringify([timeline, done]);
    expect(events).toContain("worker_ready");
  });

  test("takes nothing from others: who needs its GPU gets it, and it goes", async ({ expect }) => {
    const one = INVENTORY.gpus.filter(({ tier }) => tier === "AMPERE_16").slice(0, 1);
    const host = await ObedientHost.join({ gpus: one });
    const { endpointId, workerId } = await openStandby(FLASHBOOT, host);
    await host.until("standby");
    const other = await createEndpoint("workersMax: 1, idleTimeout: 5");
    await host.work(other);
    const [assigned] = await host.until("run");
    expect(assigned).toMatchObject({ endpointId: other, gpuIndexes: [one[0]?.index] });
    await idle(other);
    expect(await host.work(endpointId)).not.toBe(workerId);
  });

  test("goes after a time, though nothing happens", async ({ expect }) => {
    const { endpointId, host } = await openStandby();
    await host.until("standby");
    passTime(FLASHBOOT_KEEP_MS - 1);
    await host.sync();
    expect(await host.until("standby")).toHaveLength(1);
    passTime(1);
    await runInDurableObject(fleetObject(), (fleet) => fleet.alarm());
    await host.until();
    expect(await host.work(endpointId)).toBeTypeOf("string");
  });

  test.each([
    ["a new release", (endpointId: string) => save(endpointId, 'env: [{ key: "A", value: "1" }]')],
    ["workersMax of 0", (endpointId: string) => save(endpointId, "workersMax: 0")],
    ["FLASHBOOT switched off", (endpointId: string) => save(endpointId, "flashBootType: OFF")],
    [
      "the end of the endpoint",
      async (endpointId: string) => {
        await save(endpointId, "workersMin: 0, workersMax: 0");
        await graphql(`mutation { deleteEndpoint(id: "${endpointId}") }`);
      },
    ],
  ])("goes with %s", async (_, act) => {
    const { endpointId, host } = await openStandby();
    await host.until("standby");
    await act(endpointId);
    await host.until();
  });

  test.each(["cordoned", "drained"])("goes when its host is %s", async (word) => {
    const { host } = await openStandby();
    await host.until("standby");
    await graphql(`mutation { hostUpdate(input: { id: "${host.agent.hostId}", ${word}: true }) { id } }`);
    await host.until();
  });

  test("goes when the agent of its host is too old for the edge", async ({ expect }) => {
    const { host } = await openStandby();
    await host.until("standby");
    const inventory = { ...INVENTORY, canFreeze: true };
    const { assignments } = await host.agent.sync({ agentVersion: "0.0.1", inventory });
    expect(assignments).toEqual([]);
  });

  test("is used for as long as it runs, and not while it is frozen", async ({ expect }) => {
    const { endpointId, host } = await openStandby();
    await host.until("standby");
    expect(await usedMs(endpointId)).toBe(5 * SECOND);
    passTime(600 * SECOND);
    expect(await usedMs(endpointId)).toBe(5 * SECOND);

    await host.work(endpointId);
    passTime(7 * SECOND);
    expect(await usedMs(endpointId)).toBe(12 * SECOND);
    await idle(endpointId);
    await host.until("standby");
    passTime(600 * SECOND);
    expect(await usedMs(endpointId)).toBe(17 * SECOND);
    await env.FLEET.getByName("default").removeHost(host.agent.hostId);
    expect(await usedMs(endpointId)).toBe(17 * SECOND);
  });

  test("is no worker of an endpoint that waits for one: its usage is asked for", async ({ expect }) => {
    const { endpointId, host } = await openStandby();
    await host.until("standby");
    passTime(3_600 * SECOND); // its host is silent, and so nothing is revived there
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const since = Math.floor(Date.now() / 3_600_000) * 3_600_000;
    const span = { since, until: Number.MAX_SAFE_INTEGER, storedUntil: 0 };
    const waiting = async () => {
      const hours = await env.FLEET.getByName("default").usage(span);
      return hours.find((hour) => hour.endpointId === endpointId);
    };
    await expect.poll(waiting).toMatchObject({ workerMs: 0, gpus: [] });
  });

  test("is told to Prometheus as what it is, and takes no GPU", async ({ expect }) => {
    const { endpointId, host } = await openStandby();
    await host.until("standby");
    const headers = { Authorization: `Bearer ${api.key}` };
    const text = await (await exports.default.fetch("http://edge/metrics", { headers })).text();
    const lines = text.split("\n").map((line) => line.replace(/name="[^"]*",?/, ""));
    const workers = lines.filter((line) =>
      line.startsWith(`edgerun_endpoint_workers{endpoint="${endpointId}"`),
    );
    expect(workers).toEqual([`edgerun_endpoint_workers{endpoint="${endpointId}",state="standby"} 1`]);
    expect(text).toMatch(/edgerun_host_gpus_taken\{.*\} 0\n/);
    expect(text).toMatch(/edgerun_host_workers\{.*\} 0\n/);
  });

  test("is not kept without FLASHBOOT", async () => {
    const { host } = await openStandby("workersMax: 2, idleTimeout: 5");
    await host.until();
  });

  test("is not kept on a host that cannot freeze", async () => {
    const { host } = await openStandby(FLASHBOOT, await ObedientHost.join({ canFreeze: false }));
    await host.until();
  });
});

/** An endpoint with two workers on standby, in the order in which they were let go. */
async function openTwo() {
  const endpointId = await createEndpoint(
    "workersMax: 2, idleTimeout: 5, flashBootType: FLASHBOOT, workersMin: 2",
  );
  const host = await ObedientHost.join();
  await host.until("run", "run");
  await host.sync();
  await save(endpointId, "workersMin: 0");
  return { endpointId, host, workerIds: await letAllGo(endpointId, host) };
}

/** Both workers of the endpoint go on standby; returns them in their order. */
async function letAllGo(endpointId: string, host: ObedientHost): Promise<readonly string[]> {
  const frozen = new Set<string>();
  for (const modes of [
    ["run", "standby"],
    ["standby", "standby"],
  ] as const) {
    passTime(60 * SECOND + LEAVE_GAP_MS);
    await fireAlarm(endpointId);
    const assignments = await host.until(...modes);
    for (const { workerId, mode } of assignments) if (mode === "standby") frozen.add(workerId);
  }
  return [...frozen];
}

test("an endpoint has no more standby workers than workersMax, and those run again before new ones", async ({
  expect,
}) => {
  const { endpointId, host, workerIds } = await openTwo();
  await save(endpointId, "workersMin: 2");
  const after = (await host.until("run", "run")).map(({ workerId }) => workerId);
  expect(new Set(after)).toEqual(new Set(workerIds));

  await save(endpointId, "workersMin: 0");
  await letAllGo(endpointId, host);
  await save(endpointId, "workersMax: 1");
  await host.until("standby");
});

describe("a worker on standby that is asked for by name", () => {
  const isRunning = ({ mode }: Assignment) => mode === undefined;
  const wish = async (endpointId: string, workersMax: number, wanted: number, resume: readonly string[]) => {
    const config = { ...(await configOf(endpointId)), workersMax };
    await fleetObject().wish({ config, wanted, leaving: [], resume, isRemoved: false });
  };

  test("runs again, and no other in its place", async ({ expect }) => {
    const { endpointId, host, workerIds } = await openTwo();
    const [earlier = ""] = workerIds; // a wish that only grows revives the other
    await wish(endpointId, 2, 1, [earlier]);
    const assignments = await host.until("run", "standby");
    expect(assignments.filter(isRunning)).toMatchObject([{ workerId: earlier }]);
    await wish(endpointId, 2, 1, [earlier]);
    expect(await host.until("run", "standby")).toEqual(assignments);
  });

  test("stays when the stint that was named is over", async ({ expect }) => {
    const { endpointId, host, workerIds } = await openTwo();
    const [earlier = "", later = ""] = workerIds;
    await wish(endpointId, 2, 1, [`${earlier}/1`]);
    const assignments = await host.until("run", "standby");
    expect(assignments.filter(isRunning)).toMatchObject([{ workerId: later }]);
  });

  test("waits while workersMax others run, and comes when one of them has left", async ({ expect }) => {
    const { endpointId, host, workerIds } = await openTwo();
    const [earlier = "", later = ""] = workerIds;
    await wish(endpointId, 2, 1, []);
    expect((await host.until("run", "standby")).filter(isRunning)).toMatchObject([{ workerId: later }]);
    await wish(endpointId, 1, 1, [earlier]);
    expect((await host.until("run", "standby")).filter(isRunning)).toMatchObject([{ workerId: later }]);

    const config = { ...(await configOf(endpointId)), workersMax: 1 };
    const leaving = [`${later}/1`];
    await fleetObject().wish({ config, wanted: 1, leaving, resume: [earlier], isRemoved: false });
    expect((await host.until("run", "standby")).filter(isRunning)).toMatchObject([{ workerId: earlier }]);
  });

  test("comes when its host does", async ({ expect }) => {
    const { endpointId, host, workerIds } = await openTwo();
    const [earlier = ""] = workerIds;
    passTime(60 * SECOND); // its host is silent, but not given up yet
    await wish(endpointId, 2, 0, [earlier]);
    const assignments = await host.until("run", "standby");
    expect(assignments.filter(isRunning)).toMatchObject([{ workerId: earlier }]);
  });
});
