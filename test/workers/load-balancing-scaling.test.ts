/** Requests of load-balanced endpoints as work: they scale, hold workers, are counted, and write no rows. */
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { Assignment, WorkerReport } from "../../src/contract/agent/agent.ts";
import { FLAG_END, FRAME } from "../../src/link/link-frame.ts";
import { ACTIVITY_CHECKPOINT_MS } from "../../src/endpoint/metrics/activity-counters.ts";
import { IDLE_STORE_AFTER_MS } from "../../src/endpoint/scaling/idle-tracker.ts";
import type { RequestMetrics, WorkerMetrics } from "../../src/contract/metrics.ts";
import type { Affinity } from "../../src/forwarding/messages.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { answered, forward, headOf, json, ScriptedLink, untilReady } from "./link-client.ts";
import { alarmOf, configure, endpointObject, evict, fireAlarm, kill, passTime } from "./object.ts";
import { notYet, until } from "./support/until.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAsNewAccount } = api;

const SECOND = 1_000;
const IDLE_TIMEOUT_MS = 60 * SECOND;
const [gpu] = INVENTORY.gpus.filter(({ tier }) => tier === "AMPERE_16");
if (!gpu) throw new Error("There is no GPU.");
const gpus = Array.from({ length: 4 }, (_, index) => ({ ...gpu, index }));
const inventory = { ...INVENTORY, gpus, canFreeze: true };

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** Each test has an hour of its own: for a fleet that hibernates in between the clock must not go back. */
const HOUR = 3_600 * SECOND;
let hour = Math.ceil(Date.now() / HOUR);
beforeEach(() => vi.setSystemTime((hour += 1) * HOUR));

/** A host that does at once what it is told, and serves requests of one endpoint by hand. */
class LinkedHost {
  readonly agent: ScriptedAgent;
  readonly link: ScriptedLink;
  readonly endpointId: string;
  assignments: readonly Assignment[] = [];

  private constructor(agent: ScriptedAgent, link: ScriptedLink, endpointId: string) {
    this.agent = agent;
    this.link = link;
    this.endpointId = endpointId;
  }

  static async join(endpointId: string): Promise<LinkedHost> {
    const agent = await ScriptedAgent.join(api);
    await until(
      async () => (await agent.sync({ inventory })).assignments.length > 0,
      "the host has a worker",
    );
    return new LinkedHost(agent, new ScriptedLink(await agent.openLink(endpointId)), endpointId);
  }

  async sync(): Promise<readonly Assignment[]> {
    const { assignments, revision } = await this.agent.sync({ inventory });
    this.assignments = assignments;
    const workers = assignments.map(({ workerId, endpointId, revision: version, mode }): WorkerReport => ({
      workerId,
      endpointId,
      revision: version,
      ...(mode === "standby" ? { state: "stopping", isStandby: true } : { state: "ready" }),
    }));
    await this.agent.sync({ inventory, appliedRevision: revision, workers });
    return assignments;
  }

  /** Resolves with the workers that shall run once there are so many, and they take requests. */
  async until(count: number): Promise<string[]> {
    const look = async () => {
      const assignments = await this.sync();
      const running = assignments.filter(({ mode }) => mode === undefined);
      const workerIds = running.map(({ workerId }) => workerId);
      this.link.ready(...workerIds);
      const { idle = 0, running: busy = 0 } = await workersOf(this.endpointId);
      const isThere = workerIds.length === count && idle + busy === count;
      return isThere ? workerIds : notYet({ workerIds, idle, busy });
    };
    return until(look, `${count} workers take requests`);
  }
}

const health = async (endpointId: string) => (await call("GET", `/v2/${endpointId}/health`)).body;
const workersOf = async (endpointId: string) =>
  (await health(endpointId))["workers"] as Readonly<Record<string, number>>;
const jobsOf = async (endpointId: string) => (await health(endpointId))["jobs"];
const rowsOf = async (endpointId: string) => (await endpointObject(endpointId).vitals()).rowsWritten;

async function requestsOf(endpointId: string): Promise<RequestMetrics> {
  const { body } = await call("GET", `/v2/${endpointId}/metrics/requests?window=1h`);
  return body as unknown as RequestMetrics;
}

async function gaugesOf(endpointId: string): Promise<WorkerMetrics["now"]> {
  const { body } = await call("GET", `/v2/${endpointId}/metrics/workers?window=5m`);
  return (body as unknown as WorkerMetrics).now;
}

const LB = `type: "LB", scalerType: "REQUEST_COUNT", scalerValue: 2, idleTimeout: 60`;

/** A load-balanced endpoint with as many ready workers as it has at least. */
async function linked(settings = "workersMin: 1, workersMax: 3") {
  const endpointId = await createEndpoint(`${LB}, ${settings}`);
  const host = await LinkedHost.join(endpointId);
  const workersMin = Number(/workersMin: (\d)/.exec(settings)?.[1]);
  const workerIds = await host.until(workersMin);
  for (const workerId of workerIds) await untilReady(endpointId, workerId);
  const [workerId = ""] = workerIds;
  const ask = (affinity: Affinity | null = null) => forward(endpointId, { affinity });
  /** A request that is answered after so long. */
  const serve = async (ms = 0) => {
    const reply = ask();
    const { stream } = await host.link.open();
    passTime(ms);
    host.link.answer(stream, "ok");
    await answered(reply);
    await untilNone(endpointId);
  };
  return { endpointId, host, link: host.link, workerIds, workerId, ask, serve };
}

/** Resolves once the object has no request and has looked at that. */
async function untilNone(endpointId: string): Promise<void> {
  const look = async () => {
    const { inProgress, inQueue } = (await jobsOf(endpointId)) as Record<string, number>;
    return (inProgress === 0 && inQueue === 0) || notYet({ inProgress, inQueue });
  };
  await until(look, "the endpoint has no request");
  await endpointObject(endpointId).learnWebhookSecrets([]); // a turn that changes nothing: those before it are over
}

/** A client that waits for a worker, as the gateway does. */
async function openChannel(endpointId: string, affinity = ""): Promise<WebSocket> {
  const query = `direct=${crypto.randomUUID()}&affinity=${affinity}&until=${Date.now() + 120_000}`;
  const { webSocket } = await endpointObject(endpointId).fetch(`https://object/wake-up?${query}`, {
    headers: { Upgrade: "websocket" },
  });
  if (!webSocket) throw new Error("no wake-up channel");
  webSocket.accept();
  return webSocket;
}

describe("rows", () => {
  test("are written by no request, and none moves the alarm", async ({ expect }) => {
    const { endpointId, serve } = await linked();
    await configure(endpointId, { workersMin: 0 });
    await serve();
    await serve(); // the first one of a quiet endpoint is noted by itself
    const before = await rowsOf(endpointId);
    const alarm = await alarmOf(endpointId);
    for (let count = 0; count < 50; count += 1) await serve(40);
    console.info(`rows written by 50 requests within 2 s: ${(await rowsOf(endpointId)) - before}`);
    expect(await rowsOf(endpointId)).toBe(before);
    expect(await alarmOf(endpointId)).toBe(alarm);
  });

  test("are written by a constant load at intervals, however many requests there are", async ({ expect }) => {
    const rows: number[] = [];
    for (const perSecond of [1, 4]) {
      const { endpointId, serve } = await linked();
      await configure(endpointId, { workersMin: 0 });
      await serve();
      const before = await rowsOf(endpointId);
      for (let second = 0; second < 60; second += 1) {
        for (let count = 0; count < perSecond; count += 1) await serve(SECOND / perSecond);
        const alarm = await alarmOf(endpointId);
        if (alarm !== null && alarm <= Date.now()) await fireAlarm(endpointId);
      }
      rows.push((await rowsOf(endpointId)) - before);
    }
    console.info(`rows written in a minute by 1 request a second and by 4: ${rows.join(", ")}`);
    expect(Math.max(...rows)).toBeLessThan(14);
  });

  test("of a rare request are those of a quiet time", async ({ expect }) => {
    const { endpointId, serve } = await linked();
    await configure(endpointId, { workersMin: 0 });
    const once = async () => {
      await serve();
      for (const ms of [IDLE_STORE_AFTER_MS, 22 * SECOND]) {
        passTime(ms);
        const alarm = await alarmOf(endpointId);
        if (alarm !== null && alarm <= Date.now()) await fireAlarm(endpointId);
      }
    };
    await once();
    const before = await rowsOf(endpointId);
    for (let count = 0; count < 10; count += 1) await once();
    const rows = ((await rowsOf(endpointId)) - before) / 10;
    console.info(`rows written by a request every 30 s: ${rows}`);
    expect(rows).toBeLessThanOrEqual(2);
  });
});

describe("workers", () => {
  test("are as many as the waiting requests and those in flight need", async ({ expect }) => {
    const { endpointId, host, link, ask } = await linked();
    const replies = [ask(), ask(), ask()];
    const opened = [await link.open(), await link.open(), await link.open()];
    expect(await jobsOf(endpointId)).toMatchObject({ inProgress: 3, inQueue: 0 });
    await host.until(2);
    replies.push(ask(), ask());
    opened.push(await link.open(), await link.open());
    await host.until(3);
    for (const { stream } of opened) link.answer(stream, "ok");
    await Promise.all(replies.map((reply) => answered(reply)));

    const other = await createEndpoint(`${LB}, workersMin: 0, workersMax: 5`);
    const channels = await Promise.all(Array.from({ length: 5 }, () => openChannel(other)));
    expect(await jobsOf(other)).toMatchObject({ inProgress: 0, inQueue: 5 });
    await evict(other); // their sockets are the count
    expect(await jobsOf(other)).toMatchObject({ inProgress: 0, inQueue: 5 });
    expect(await gaugesOf(other)).toMatchObject({ wanted: 3, queued: 5, running: 0 });
    for (const channel of channels) channel.close();
  });

  test("leave when their last request has ended for idleTimeout, and not before", async ({ expect }) => {
    const { endpointId, host, serve } = await linked();
    await configure(endpointId, { workersMin: 0 });
    passTime(IDLE_TIMEOUT_MS - 1);
    await serve(SECOND);
    passTime(IDLE_TIMEOUT_MS - 1);
    await fireAlarm(endpointId);
    expect(await host.until(1)).toHaveLength(1);
    passTime(1);
    await fireAlarm(endpointId);
    await host.until(0);
  });

  test("leave in time though the object has hibernated", async ({ expect }) => {
    const { endpointId, host, serve } = await linked();
    await configure(endpointId, { workersMin: 0 });
    await serve();
    passTime(IDLE_STORE_AFTER_MS);
    await fireAlarm(endpointId);
    await evict(endpointId);
    passTime(IDLE_TIMEOUT_MS - IDLE_STORE_AFTER_MS - 1);
    await fireAlarm(endpointId);
    expect(await host.until(1)).toHaveLength(1);
    await evict(endpointId);
    passTime(1);
    await fireAlarm(endpointId);
    await host.until(0);
  });

  test("stay for idleTimeout when the object dies after a request that was not stored", async ({
    expect,
  }) => {
    const { endpointId, host, serve, workerId } = await linked();
    await configure(endpointId, { workersMin: 0 });
    await serve();
    passTime(IDLE_STORE_AFTER_MS);
    await fireAlarm(endpointId);
    passTime(40 * SECOND);
    await serve();
    await kill(endpointId);
    passTime(30 * SECOND);
    await fireAlarm(endpointId);
    const link = new ScriptedLink(await host.agent.openLink(endpointId));
    link.ready(workerId);
    expect(await host.sync()).toHaveLength(1);
    expect(await workersOf(endpointId)).toMatchObject({ idle: 1 });
  });

  test("are held by an open WebSocket, also while the object hibernates", async ({ expect }) => {
    const { endpointId, host, link } = await linked();
    await configure(endpointId, { workersMin: 0 });
    const query = `request=${crypto.randomUUID()}&affinity=&received=${Date.now()}`;
    const head = btoa(String.fromCharCode(...headOf({ kind: "websocket" })));
    const upgrade = endpointObject(endpointId).fetch(`https://object/direct?${query}`, {
      headers: { Upgrade: "websocket", "Edgerun-Head": head },
    });
    const { stream } = await link.open();
    link.head(stream, { status: 101, statusText: "Switching Protocols", headers: [] });
    const { webSocket: client } = await upgrade;
    if (!client) throw new Error("no WebSocket");
    client.accept();
    for (let round = 0; round < 3; round += 1) {
      passTime(2 * IDLE_TIMEOUT_MS);
      await evict(endpointId);
      await fireAlarm(endpointId);
      expect(await jobsOf(endpointId)).toMatchObject({ inProgress: 1, inQueue: 0, completed: 0 });
      expect(await workersOf(endpointId)).toMatchObject({ running: 1, idle: 0 });
      expect(await host.until(1)).toHaveLength(1);
    }
    client.close(1000, "bye");
    await link.next(FRAME.CLOSE);
    link.send({ type: FRAME.CLOSE, stream, payload: json({ code: 1000, reason: "bye" }) });
    await untilNone(endpointId);
    expect(await jobsOf(endpointId)).toMatchObject({ completed: 1, failed: 0 });
    expect((await requestsOf(endpointId)).executionTime.mean).toBe(6 * IDLE_TIMEOUT_MS);
    passTime(IDLE_TIMEOUT_MS);
    await fireAlarm(endpointId);
    await host.until(0);
  });
});

describe("a release", () => {
  const changeVersion = (endpointId: string) =>
    graphql(`mutation { saveEndpoint(input: { id: "${endpointId}", name: "x", gpuIds: "AMPERE_16",
        env: [{ key: "A", value: "1" }] }) { id } }`);

  test("removes workers without requests first, and others after their requests end", async ({ expect }) => {
    const { endpointId, host, link, workerIds, ask } = await linked("workersMin: 2, workersMax: 2");
    const reply = ask();
    const { stream, workerId: busy } = await link.open();
    await changeVersion(endpointId);
    const idle = workerIds.find((workerId) => workerId !== busy);
    // One new worker beside two, for which the idle one goes; then another, for which the busy one shall.
    await until(async () => {
      const assignments = await host.sync();
      link.ready(...assignments.map(({ workerId }) => workerId));
      const old = assignments.filter(({ revision }) => revision === 1).map(({ workerId }) => workerId);
      if (!old.includes(busy)) throw new Error("The busy worker is gone.");
      const newer = assignments.filter(({ revision }) => revision === 2);
      return (!old.includes(idle ?? "") && newer.length === 2) || notYet(assignments);
    }, "the idle worker is replaced");
    expect((await health(endpointId))["release"]).toMatchObject({ from: 1, to: 2, outdated: 1 });

    const later = ask();
    const opened = await link.open();
    expect(workerIds).not.toContain(opened.workerId);
    link.answer(opened.stream, "new");
    await answered(later);
    link.answer(stream, "old");
    await answered(reply);
    const left = await host.until(2);
    expect(left).not.toContain(busy);
    expect((await health(endpointId))["release"]).toBeNull();
  });
});

describe("a worker that was scaled down", () => {
  test("is resumed for a request that names it, and stays for idleTimeout", async ({ expect }) => {
    const { endpointId, host, workerIds } = await linked(
      "workersMin: 2, workersMax: 2, flashBootType: FLASHBOOT",
    );
    await configure(endpointId, { workersMin: 0 });
    const frozen: string[] = [];
    for (const left of [1, 0]) {
      passTime(IDLE_TIMEOUT_MS + SECOND);
      await fireAlarm(endpointId);
      const running = await host.until(left);
      frozen.push(...workerIds.filter((id) => !running.includes(id) && !frozen.includes(id)));
    }
    const [earlier = ""] = frozen; // a request for any worker gets the other
    const affinity: Affinity = { mode: "resume", workerId: earlier };
    await until(
      async () => (await forward(endpointId, { affinity })).kind === "wait",
      "a request waits for it",
    );
    const channel = await openChannel(endpointId, `resume:${earlier}`);
    expect(await host.until(1)).toEqual([earlier]);
    await untilReady(endpointId, earlier);
    const reply = forward(endpointId, { affinity });
    const { stream, workerId } = await host.link.open();
    expect(workerId).toBe(earlier);
    host.link.answer(stream, "ok");
    await answered(reply);
    channel.close();
    await untilNone(endpointId);

    passTime(IDLE_TIMEOUT_MS - 1);
    await fireAlarm(endpointId);
    expect(await host.until(1)).toEqual([earlier]);
    passTime(1);
    await fireAlarm(endpointId);
    await host.until(0);
  });
});

describe("requests", () => {
  test("are counted by how they ended, with their times", async ({ expect }) => {
    const { endpointId, host, link, ask, serve } = await linked();
    for (let count = 0; count < 10; count += 1) await serve(1_000);
    const failing = ask();
    link.reset((await link.open()).stream, "worker_failed");
    expect(await failing).toMatchObject({ kind: "failed" });
    const requestId = crypto.randomUUID();
    for (const reason of ["aborted", "timeout"] as const) {
      const reply = forward(endpointId, { requestId });
      await link.open();
      await endpointObject(endpointId).abortForwarded(requestId, reason);
      expect(await reply).toMatchObject({ kind: "failed", reason });
      await link.next(FRAME.RESET);
    }
    await untilNone(endpointId);
    expect(await jobsOf(endpointId)).toEqual({
      completed: 10,
      failed: 2,
      inProgress: 0,
      inQueue: 0,
      retried: 0,
    });
    const told = await requestsOf(endpointId);
    expect(told).toMatchObject({ requests: 13, completed: 10, failed: 1, timedOut: 1, cancelled: 1 });
    expect(told.executionTime).toMatchObject({ count: 13, mean: Math.round(10_000 / 13) });
    expect(told.delayTime).toMatchObject({ count: 13, mean: 0 });
    expect(host.assignments.length).toBeGreaterThan(0);
  });

  test("are counted once each, however they end, and leave nothing behind", async ({ expect }) => {
    const { endpointId, link } = await linked();
    const begin = async () => {
      const requestId = crypto.randomUUID();
      const reply = forward(endpointId, { requestId });
      const { stream } = await link.open();
      return { stream, reply, abort: () => endpointObject(endpointId).abortForwarded(requestId, "aborted") };
    };
    const beginAnswer = async () => {
      const request = await begin();
      link.head(request.stream);
      const { body } = await answered(request.reply);
      return { ...request, isCut: expect(new Response(body).text()).rejects.toThrow(/./) };
    };
    const kinds: readonly (() => Promise<void>)[] = [
      async () => {
        const { stream, reply, abort } = await begin();
        link.answer(stream, "ok");
        await answered(reply);
        await abort();
      },
      async () => {
        const { reply, abort } = await begin();
        await abort();
        expect((await reply).kind).toBe("failed");
        await link.next(FRAME.RESET);
      },
      async () => {
        const { abort, isCut } = await beginAnswer();
        await abort();
        await isCut;
        await link.next(FRAME.RESET);
      },
      async () => {
        const { stream, reply } = await begin();
        link.reset(stream, "worker_failed");
        expect((await reply).kind).toBe("failed");
      },
      async () => {
        const { stream, isCut } = await beginAnswer();
        link.reset(stream, "worker_failed");
        await isCut;
      },
      async () => {
        const requestId = crypto.randomUUID();
        await endpointObject(endpointId).abortForwarded(requestId, "aborted");
        expect((await forward(endpointId, { requestId })).kind).toBe("failed");
      },
    ];
    const ROUNDS = 30;
    for (let round = 0; round < ROUNDS; round += 1) for (const kind of kinds) await kind();
    await untilNone(endpointId);
    expect(await requestsOf(endpointId)).toMatchObject({
      requests: 5 * ROUNDS,
      completed: ROUNDS,
      cancelled: 2 * ROUNDS,
      failed: 2 * ROUNDS,
    });
    expect(await endpointObject(endpointId).vitals()).toMatchObject({
      requestsInFlight: 0,
      awaitedRequests: 0,
      waitingRequests: 0,
    });
    expect(link.unread).toEqual([]);
  });

  test("that no worker had are counted when their clients leave", async ({ expect }) => {
    const endpointId = await createEndpoint(`${LB}, workersMin: 0, workersMax: 1`);
    const [leaving, patient] = [await openChannel(endpointId), await openChannel(endpointId)];
    leaving.close();
    await until(async () => (await gaugesOf(endpointId)).queued <= 1, "one request has left");
    passTime(120_000);
    patient.close();
    await untilNone(endpointId);
    expect(await requestsOf(endpointId)).toMatchObject({
      requests: 2,
      cancelled: 1,
      timedOut: 1,
      delayTime: { count: 0 },
    });
  });

  test("are remembered by an object that hibernates, and up to the last checkpoint by one that dies", async ({
    expect,
  }) => {
    const { endpointId, serve } = await linked();
    await serve(1_000);
    passTime(IDLE_STORE_AFTER_MS);
    await fireAlarm(endpointId);
    await evict(endpointId);
    expect(await requestsOf(endpointId)).toMatchObject({ requests: 1, completed: 1 });
    await serve(1_000);
    passTime(ACTIVITY_CHECKPOINT_MS);
    await fireAlarm(endpointId);
    await serve(1_000);
    await serve(1_000);
    await kill(endpointId);
    expect(await requestsOf(endpointId)).toMatchObject({ requests: 3, completed: 3 });
    expect(await jobsOf(endpointId)).toMatchObject({ completed: 3, inProgress: 0 });
  });

  test("wait for a worker that comes up for them: that is their cold start", async ({ expect }) => {
    const endpointId = await createEndpoint(`${LB}, workersMin: 0, workersMax: 1`);
    const receivedAt = Date.now();
    const channel = await openChannel(endpointId);
    const agent = await ScriptedAgent.join(api);
    const { assignments, revision } = await agent.sync();
    const link = new ScriptedLink(await agent.openLink(endpointId));
    const { workerId = "", revision: version = 0 } = assignments[0] ?? {};
    passTime(20_000);
    const ago = { pullStarted: 19_000, pullEnded: 4_000, containerStarted: 3_000, ready: 0 };
    const worker = { workerId, endpointId, revision: version, state: "ready" as const, ago };
    await agent.sync({ appliedRevision: revision, workers: [worker] });
    link.ready(workerId);
    await untilReady(endpointId, workerId);
    await until(async () => (await workersOf(endpointId))["idle"] === 1, "the worker is idle");
    const reply = forward(endpointId, { receivedAt });
    const { stream } = await link.open();
    link.send({ type: FRAME.HEAD, stream, flags: FLAG_END, payload: '{"status":500}' });
    await answered(reply);
    channel.close();
    await untilNone(endpointId);
    expect(await requestsOf(endpointId)).toMatchObject({
      completed: 1,
      failed: 0,
      delayTime: { count: 1, mean: 20_000 },
      coldStartTime: { count: 1, mean: 19_000 },
    });
  });
});
