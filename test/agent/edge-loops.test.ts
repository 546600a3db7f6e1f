/** The loops that call the edge, against a server whose calls a test answers one by one, in any order. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, onTestFinished, test } from "vitest";
import { SILENT_LOG } from "../../node-agent/core/log.ts";
import { TIMING } from "../../node-agent/core/timing.ts";
import { EdgeClient } from "../../node-agent/edge/edge-client.ts";
import { type EdgeContext, Reachability } from "../../node-agent/edge/edge-context.ts";
import {
  ExchangeLoop,
  type ExchangeShards,
  type ExchangeWorkers,
} from "../../node-agent/exchange/exchange-loop.ts";
import type { Slot } from "../../node-agent/exchange/exchange-plan.ts";
import { SyncLoop } from "../../node-agent/exchange/sync-loop.ts";
import { AttemptLedger } from "../../node-agent/journal/attempt-ledger.ts";
import { Journal } from "../../node-agent/journal/journal.ts";
import {
  type Assignment,
  type ExchangeRequest,
  exchangeRequestSchema,
  syncRequestSchema,
} from "../../src/contract/agent/agent.ts";
import { assignment } from "../support/agent-fixture.ts";
import { receiveOne } from "../support/received-attempt.ts";
import { until } from "../support/until.ts";

const ENDPOINT = "endpoint-1";
const LIMIT_MS = 3_000;
const NO_ENDPOINT = { error: "no such endpoint", code: "endpoint_not_found" };
const NOTHING = { acks: [], jobs: [], stops: [] };

type Call = { readonly body: unknown; readonly answer: (status: number, reply: unknown) => void };

/** An edge that answers no call by itself. */
class ManualEdge {
  readonly #calls: Call[] = [];
  readonly #server = createServer((request, response) => {
    void text(request).then((body) =>
      this.#calls.push({ body: JSON.parse(body), answer: answerOf(response) }),
    );
  });

  static async start(): Promise<ManualEdge> {
    const edge = new ManualEdge();
    await new Promise<void>((resolve) => edge.#server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      edge.#server.closeAllConnections();
      edge.#server.close();
    });
    return edge;
  }

  context(): EdgeContext {
    const stopping = new AbortController();
    onTestFinished(() => stopping.abort());
    return {
      client: new EdgeClient(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`, "token"),
      reachability: new Reachability(SILENT_LOG),
      log: SILENT_LOG,
      timing: { ...TIMING, edgeRetryBaseMs: 10, edgeRetryCapMs: 10 },
      signal: stopping.signal,
      random: () => 0.5,
      onUnauthorized: () => {},
    };
  }

  /** The next call of which the condition is true; fails when none comes. */
  async next(what: string, matches: (body: unknown) => boolean = () => true): Promise<Call> {
    return await until(() => {
      const index = this.#calls.findIndex(({ body }) => matches(body));
      const [call] = index < 0 ? [] : this.#calls.splice(index, 1);
      return call;
    }, `the agent's call: ${what}`);
  }
}

function answerOf(response: ServerResponse): Call["answer"] {
  return (status, reply) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(reply));
  };
}

describe("an exchange", () => {
  type Setup = {
    readonly hasRunning: boolean | (() => boolean);
    readonly slots?: Slot[];
    readonly lastTurn?: number;
    readonly onOver?: (lastTurn: number) => void;
    readonly stopJob?: ExchangeWorkers["stopJob"];
  };

  function start(
    edge: ManualEdge,
    { hasRunning, slots = [], lastTurn = 1, onOver = () => {}, stopJob = () => {} }: Setup,
  ) {
    const stateDir = mkdtempSync(join(tmpdir(), "edgerun-exchange-"));
    const journal = new Journal(stateDir);
    onTestFinished(() => {
      journal.close();
      rmSync(stateDir, { recursive: true, force: true });
    });
    const ledger = new AttemptLedger(journal, SILENT_LOG);
    const workers: ExchangeWorkers = {
      hasRunning: () => (typeof hasRunning === "boolean" ? hasRunning : hasRunning()),
      freeSlots: () => slots,
      acceptableJobs: () => 0,
      accept: () => {},
      stopJob,
    };
    const logs = { follow: () => 0, setFollow: () => {} };
    const shards: ExchangeShards = {
      numberOf: () => 0,
      serves: () => true,
      isServed: () => true,
      learn: () => {},
    };
    const options = {
      ref: { endpointId: ENDPOINT, shard: 0 },
      shards,
      onTurnEnd: () => {},
      session: { id: "session-1", previous: undefined },
      ledger,
      workers,
      logs,
      lastTurn,
      onOver,
    };
    const report = async (): Promise<void> => {
      const job = { id: "job-1", attempt: 1, workerId: "worker-1", executionTimeoutMs: 60_000 };
      const record = receiveOne(ledger, ENDPOINT, job);
      await ledger.report(record, { kind: "completed", output: "1" });
    };
    const open = (context = edge.context()) => new ExchangeLoop({ ...context, ...options });
    return { ledger, report, open };
  }

  const requestOf = (body: unknown): ExchangeRequest => exchangeRequestSchema.parse(body);
  const isImmediate = (body: unknown): boolean => requestOf(body).holdMs === 0;
  const isHeld = (body: unknown): boolean => requestOf(body).holdMs > 0;

  test("of a process that has just begun is answered before one waits at the edge", async ({ expect }) => {
    const edge = await ManualEdge.start();
    const { open } = start(edge, {
      hasRunning: true,
      slots: [{ workerId: "worker-1", free: 1 }],
      lastTurn: 0,
    });
    open();
    const first = await edge.next("the first turn");
    expect(requestOf(first.body)).toMatchObject({ turn: 1, holdMs: 0, slots: [{ free: 1 }] });
    first.answer(200, { ...NOTHING, at: 1_000 });
    const { body } = await edge.next("a long poll");
    expect(requestOf(body)).toMatchObject({ turn: 2, newestReplyAt: 1_000 });
    expect(isHeld(body)).toBe(true);
  });

  test("keeps its reports while workers run, even if the edge answers 404", async ({ expect }) => {
    const edge = await ManualEdge.start();
    const { report, open, ledger } = start(edge, { hasRunning: true });
    await report();
    open();
    const first = await edge.next("a report", (body) => requestOf(body).reports.length === 1);
    first.answer(404, NO_ENDPOINT);
    const second = await edge.next("after the 404", isImmediate);
    expect(requestOf(second.body).reports).toHaveLength(1);
    expect(ledger.size).toBe(1);
  });

  test("sends again at once what was on its way when the network is back after an outage", async ({
    expect,
  }) => {
    const edge = await ManualEdge.start();
    const context = edge.context();
    const { report, open } = start(edge, { hasRunning: true });
    const loop = open(context);
    await report();
    loop.reportsChanged();
    const hasReport = (body: unknown): boolean => requestOf(body).reports.length === 1;
    const stuck = await edge.next("a report that gets no answer", hasReport);
    context.client.giveUpOpenCalls();
    loop.reconnected();
    const again = await edge.next("the report once more", hasReport);
    expect(requestOf(again.body).openTurns).not.toContain(requestOf(stuck.body).turn);
  });

  test("drops its reports when the edge answers 404 and no worker is left", async ({ expect }) => {
    const edge = await ManualEdge.start();
    const over = Promise.withResolvers<number>();
    const { report, open, ledger } = start(edge, { hasRunning: false, onOver: over.resolve });
    await report();
    open();
    const first = await edge.next("a report", isImmediate);
    const held = await edge.next("a long poll", isHeld);
    first.answer(404, NO_ENDPOINT);
    held.answer(404, NO_ENDPOINT);
    await over.promise;
    expect(ledger.size).toBe(0);
  });

  test("stops what runs when the edge answers that the endpoint is gone", async ({ expect }) => {
    const edge = await ManualEdge.start();
    const stopped = Promise.withResolvers<unknown>();
    const stopJob = (...stop: unknown[]): void => stopped.resolve(stop);
    const { open, ledger } = start(edge, { hasRunning: true, stopJob });
    receiveOne(ledger, ENDPOINT, {
      id: "job-1",
      attempt: 1,
      workerId: "worker-1",
      executionTimeoutMs: 60_000,
    });
    open();
    const held = await edge.next("a long poll", isHeld);
    held.answer(404, NO_ENDPOINT);
    expect(await stopped.promise).toEqual([ENDPOINT, { jobId: "job-1", attempt: 1, reason: "expired" }]);
  });

  test("keeps its reports when something else than the edge answers 404", async ({ expect }) => {
    const edge = await ManualEdge.start();
    const { report, open, ledger } = start(edge, { hasRunning: false });
    await report();
    open();
    const first = await edge.next("a report", isImmediate);
    const held = await edge.next("a long poll", isHeld);
    first.answer(404, "There is nothing here yet.");
    held.answer(404, "There is nothing here yet.");
    const second = await edge.next("after the 404", isImmediate);
    expect(requestOf(second.body).reports).toHaveLength(1);
    expect(ledger.size).toBe(1);
  });

  test("reports a declined job at once, even while a long poll is open", async ({ expect }) => {
    const edge = await ManualEdge.start();
    const { report, open, ledger } = start(edge, { hasRunning: true });
    await report();
    open();
    await edge.next("a long poll", isHeld);
    const reported = await edge.next("a report", isImmediate);
    const acks = [{ jobId: "job-1", attempt: 1, outcome: "accepted" }];
    const job = { id: "job-2", attempt: 1, workerId: "worker-1", input: 1, executionTimeoutMs: 60_000 };
    reported.answer(200, { ...NOTHING, acks, jobs: [job] });
    const next = await edge.next("about the declined job", isImmediate);
    expect(requestOf(next.body)).toMatchObject({ held: [], reports: [] });
    expect(ledger.size).toBe(0);
  });

  test("tells the edge of a declined job before it ends, when no worker is left", async ({ expect }) => {
    const edge = await ManualEdge.start();
    const over = Promise.withResolvers<number>();
    const { report, open } = start(edge, { hasRunning: false, lastTurn: 7, onOver: over.resolve });
    await report();
    open();
    const reported = await edge.next("a report", isImmediate);
    const held = await edge.next("a long poll", isHeld);
    held.answer(200, NOTHING);
    const acks = [{ jobId: "job-1", attempt: 1, outcome: "accepted" }];
    const job = { id: "job-2", attempt: 1, workerId: "worker-1", input: 1, executionTimeoutMs: 60_000 };
    reported.answer(200, { ...NOTHING, acks, jobs: [job] });
    const last = await edge.next("about the declined job", isImmediate);
    expect(requestOf(last.body)).toMatchObject({ held: [], reports: [] });
    last.answer(200, NOTHING);
    expect(await over.promise).toBe(requestOf(last.body).turn);
    expect(requestOf(reported.body).turn).toBe(8);
  });

  test("tells the edge what it has after a turn with slots has failed, though no worker is left", async ({
    expect,
  }) => {
    const edge = await ManualEdge.start();
    const over = Promise.withResolvers<number>();
    const slots = [{ workerId: "worker-1", free: 1 }];
    const { open } = start(edge, { hasRunning: () => slots.length > 0, slots, onOver: over.resolve });
    open();
    const held = await edge.next("a long poll", isHeld);
    slots.pop();
    held.answer(503, {});
    const last = await edge.next("after the failure", isImmediate);
    expect(requestOf(last.body)).toMatchObject({ held: [], slots: [], openTurns: [] });
    last.answer(200, NOTHING);
    expect(await over.promise).toBe(requestOf(last.body).turn);
  });
});

describe("a sync", () => {
  function start(edge: ManualEdge) {
    const applied: (readonly Assignment[])[] = [];
    let replies = 0;
    const sync = new SyncLoop({
      ...edge.context(),
      inventory: () => ({ gpus: [], cpuCount: 1, memoryMb: 1, diskFreeMb: 1, runtime: "process" }),
      reports: () => [],
      isBusy: () => false,
      presence: () => null,
      apply: (assignments) => applied.push(assignments),
      onConnected: () => {},
      onReply: () => (replies += 1),
    });
    const next = (what: string) => edge.next(what, (body) => syncRequestSchema.safeParse(body).success);
    return { sync, applied, next, replies: () => replies };
  }

  test("that was overtaken by a newer one does not undo it, unless it has a newer revision", async ({
    expect,
  }) => {
    const edge = await ManualEdge.start();
    const { sync, applied, next, replies } = start(edge);
    const old = assignment({ workerId: "old" });
    const current = assignment({ workerId: "current" });
    sync.start();
    const first = await next("the first sync");
    sync.changed(true);
    const second = await next("the second sync");
    sync.changed(true);
    const third = await next("the third sync");
    third.answer(200, { revision: 2, assignments: [current] });
    await next("a sync after the third");
    first.answer(200, { revision: 1, assignments: [old] });
    await expect.poll(replies, { timeout: LIMIT_MS }).toBe(2);
    second.answer(200, { revision: 3, assignments: [] });
    await expect.poll(() => applied.length, { timeout: LIMIT_MS }).toBe(2);
    expect(applied).toEqual([[current], []]);
  });

  test("that overtook an older one does not undo what that brings", async ({ expect }) => {
    const edge = await ManualEdge.start();
    const { sync, applied, next, replies } = start(edge);
    const current = assignment({ workerId: "current" });
    sync.start();
    const first = await next("the first sync");
    sync.changed(true);
    const second = await next("the second sync");
    first.answer(200, { revision: 2, assignments: [current] });
    await expect.poll(replies, { timeout: LIMIT_MS }).toBe(1);
    second.answer(200, { revision: 1, assignments: [] });
    await expect.poll(replies, { timeout: LIMIT_MS }).toBe(2);
    expect(applied).toEqual([[current]]);
    const third = await next("a sync after both");
    third.answer(200, { revision: 1, assignments: [] });
    await expect.poll(replies, { timeout: LIMIT_MS }).toBe(3);
    expect(applied).toEqual([[current], []]);
  });
});
