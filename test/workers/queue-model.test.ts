/**
 * Random histories on the real object, against a small model: what clients are told, and that counters kept
 * in memory say what the rows say, also after the memory was lost.
 */
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, beforeEach, test, vi } from "vitest";
import type { EndpointConfig } from "../../src/contract/endpoint.ts";
import { packRequests } from "../../src/domain/batch.ts";
import { RATE_WINDOW_MS } from "../../src/contract/rate-limits.ts";
import type { ExchangeReply, Held, Report } from "../../src/endpoint/messages.ts";
import type { EndpointObject } from "../../src/endpoint/endpoint-object.ts";
import { endpointObject, evict, fireAlarm, passTime } from "./object.ts";

/** Set MODEL_RUNS for a longer search. */
const RUNS = Number(env.MODEL_RUNS);
const WORKER = "worker1";
const HOST = "host1";
const DAY_MS = 86_400_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

type Known = { id: string; status: string; attempt: number; batch?: Batch; keptUntil?: number };
type Batch = { id: string; total: number; completed: number };

class Model {
  readonly jobs: Known[] = [];
  readonly batches: Batch[] = [];
  completed = 0;
  failed = 0;
  turn = 0;

  count(status: string): number {
    return this.jobs.filter((job) => job.status === status).length;
  }
}

class Real {
  readonly endpointId = crypto.randomUUID().replaceAll("-", "").slice(0, 14);

  get stub() {
    return endpointObject(this.endpointId) as unknown as Pick<
      EndpointObject,
      | "configure"
      | "submit"
      | "status"
      | "cancel"
      | "retry"
      | "purge"
      | "list"
      | "health"
      | "exchange"
      | "batch"
      | "batchRequests"
    >;
  }

  async start(): Promise<this> {
    await this.stub.configure(configOf(this.endpointId));
    return this;
  }

  async exchange(model: Model, parts: { reports?: Report[]; free?: number }): Promise<ExchangeReply> {
    model.turn += 1;
    const reported = new Set((parts.reports ?? []).map(({ jobId }) => jobId));
    const held: Held[] = model.jobs
      .filter((job) => job.status === "IN_PROGRESS" && !reported.has(job.id))
      .map(({ id, attempt }) => ({ jobId: id, attempt, progressJson: null }));
    return this.stub.exchange({
      hostId: HOST,
      session: "s",
      turn: model.turn,
      openTurns: [],
      held,
      reports: parts.reports ?? [],
      chunks: [],
      slots: parts.free ? [{ workerId: WORKER, free: parts.free }] : [],
      isHolding: false,
    });
  }
}

function configOf(endpointId: string): EndpointConfig {
  return {
    endpointId,
    accountId: "a",
    name: "model",
    type: "QB",
    version: 1,
    workersMin: 0,
    workersMax: 0,
    idleTimeoutSeconds: 5,
    scalerType: "QUEUE_DELAY",
    scalerValue: 4,
    executionTimeoutMs: 600_000,
    gpuTiers: [],
    excludedGpuModels: [],
    gpuCount: 0,
    locations: [],
  };
}

type Command = fc.AsyncCommand<Model, Real>;

function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return { check: () => true, run, toString: () => name };
}

const submit = (isLowPriority: boolean, count: number) =>
  command(`submit ${count}${isLowPriority ? " low" : ""}`, async (model, real) => {
    const request = {
      isSync: false,
      isLowPriority,
      ttlMs: 86_400_000,
      executionTimeoutMs: null,
      input: { kind: "inline", json: "1" } as const,
      optionsJson: "{}",
      idempotencyKey: null,
      holdMs: 0,
    };
    const replies = await Promise.all(Array.from({ length: count }, () => real.stub.submit(request)));
    for (const reply of replies) {
      if (reply.kind !== "submitted") throw new Error(reply.kind);
      model.jobs.push({ id: reply.view.id, status: "IN_QUEUE", attempt: 0 });
    }
  });

const startBatch = (lanes: readonly boolean[]) =>
  command(`batch of ${lanes.map((isLow) => (isLow ? "low" : "normal")).join(", ")}`, async (model, real) => {
    freeWindows();
    const input = { kind: "inline", json: "1" } as const;
    const requests = lanes.map((isLowPriority) => ({
      input,
      optionsJson: "{}",
      isLowPriority,
      ttlMs: 30 * DAY_MS,
      executionTimeoutMs: null,
    }));
    const packs = packRequests(requests);
    const made = await real.stub.batch({ kind: "create", packs, idempotencyKey: null });
    if (made.kind === "rate_limited" && made.measure === "batches") return;
    if (made.kind !== "batch") throw new Error(made.kind);
    const batch = { id: made.batch.id, total: lanes.length, completed: 0 };
    const started = await real.stub.batch({ kind: "finalize", batchId: batch.id });
    if (started.kind !== "batch" || started.batch.status !== "FINALIZED")
      throw new Error(JSON.stringify(started));
    const page = await real.stub.batchRequests({ batchId: batch.id, offset: 0, limit: 50, isFirst: true });
    if (page.kind !== "batch_requests" || page.total !== lanes.length) throw new Error(JSON.stringify(page));
    model.batches.push(batch);
    for (const { id } of page.requests) model.jobs.push({ id, status: "IN_QUEUE", attempt: 0, batch });
  });

const cancelBatch = (pick: number) =>
  command(`cancel batch #${pick}`, async (model, real) => {
    const batch = model.batches[pick % Math.max(1, model.batches.length)];
    if (!batch) return;
    freeWindows();
    for (const job of model.jobs) {
      if (job.batch === batch && job.status === "IN_QUEUE") end(job, "CANCELLED");
    }
    const reply = await real.stub.batch({ kind: "cancel", batchId: batch.id });
    if (reply.kind !== "batch") throw new Error(reply.kind);
  });

/** Results of a batch are kept for a day. */
function end(job: Known, status: string): void {
  job.status = status;
  if (job.batch) job.keptUntil = Date.now() + DAY_MS;
  if (job.batch && status === "COMPLETED") job.batch.completed += 1;
}

const claim = (free: number) =>
  command(`claim ${free}`, async (model, real) => {
    const queued = model.count("IN_QUEUE");
    const reply = await real.exchange(model, { free });
    if (reply.kind !== "answer") throw new Error(reply.kind);
    if (reply.jobs.length !== Math.min(free, queued))
      throw new Error(`${reply.jobs.length} jobs of ${queued}`);
    for (const { jobId, attempt } of reply.jobs) {
      const job = model.jobs.find(({ id }) => id === jobId);
      if (job?.status !== "IN_QUEUE" || attempt !== job.attempt + 1)
        throw new Error("claimed what was not queued");
      Object.assign(job, { status: "IN_PROGRESS", attempt });
    }
  });

const endRunning = (pick: number, kind: "completed" | "failed" | "undelivered") =>
  command(`${kind} #${pick}`, async (model, real) => {
    const running = model.jobs.filter((job) => job.status === "IN_PROGRESS");
    const job = running[pick % Math.max(1, running.length)];
    if (!job) return;
    const ref = { jobId: job.id, attempt: job.attempt };
    if (kind === "undelivered") {
      job.status = "IN_QUEUE"; // left out of what the agent lists
      await real.exchange(model, {});
      return;
    }
    const report: Report =
      kind === "completed"
        ? { kind, ...ref, output: { kind: "inline", json: "2" } }
        : { kind, ...ref, error: "e", output: null };
    const reply = await real.exchange(model, { reports: [report] });
    if (reply.kind !== "answer" || reply.acks[0]?.outcome !== "accepted") throw new Error("refused");
    end(job, kind === "completed" ? "COMPLETED" : "FAILED");
    model[kind] += 1;
  });

const cancel = (pick: number) =>
  command(`cancel #${pick}`, async (model, real) => {
    const job = model.jobs[pick % Math.max(1, model.jobs.length)];
    if (!job) return;
    if (job.status === "IN_QUEUE" || job.status === "IN_PROGRESS") end(job, "CANCELLED");
    const reply = await real.stub.cancel(job.id);
    if (reply.kind !== "done" || reply.status !== job.status)
      throw new Error(`${JSON.stringify(reply)} for ${job.status}`);
  });

const retry = (pick: number) =>
  command(`retry #${pick}`, async (model, real) => {
    const job = model.jobs[pick % Math.max(1, model.jobs.length)];
    if (!job) return;
    const isRetryable = job.status === "FAILED" || job.status === "TIMED_OUT";
    const reply = await real.stub.retry(job.id);
    if (reply.kind !== (isRetryable ? "done" : "not_retryable"))
      throw new Error(`${reply.kind} for ${job.status}`);
    if (isRetryable) job.status = "IN_QUEUE";
  });

const purge = command("purge", async (model, real) => {
  const queued = model.jobs.filter((job) => job.status === "IN_QUEUE");
  for (const job of queued) job.status = "CANCELLED";
  freeWindows();
  const reply = await real.stub.purge();
  if (reply.kind !== "purged" || reply.removed !== queued.length) throw new Error(JSON.stringify(reply));
});

const forget = command("evict", async (_, real) => {
  await real.stub.health(); // only what is awake can be evicted
  await evict(real.endpointId);
});

const wait = command("two hours pass", async (model, real) => {
  passTime(7_200_000);
  await fireAlarm(real.endpointId);
  for (const job of model.jobs) {
    if (job.status !== "IN_PROGRESS") continue;
    end(job, "TIMED_OUT");
    model.failed += 1;
  }
  // What ended before or in this sweep goes in the next one, when its retention is over too.
  passTime(7_200_000);
  await fireAlarm(real.endpointId);
  const isKept = (job: Known) => job.status === "IN_QUEUE" || Date.now() < (job.keptUntil ?? 0);
  const ended = model.jobs.filter((job) => !isKept(job));
  for (const job of ended) {
    if ((await real.stub.status(job.id, 0)).kind !== "not_found") throw new Error("kept too long");
  }
  model.jobs.splice(0, Infinity, ...model.jobs.filter(isKept));
});

const compare = command("compare", async (model, real) => {
  for (const job of model.jobs) {
    const reply = await real.stub.status(job.id, 0);
    const status = reply.kind === "found" ? reply.view.status : reply.kind;
    if (status !== job.status) throw new Error(`${job.id} is ${status}, not ${job.status}`);
  }
  const reply = await real.stub.health();
  if (reply.kind !== "health") throw new Error(reply.kind);
  const { jobs } = reply.health;
  const counted = [jobs.inQueue, jobs.inProgress, jobs.completed, jobs.failed].join();
  const expected = [
    model.count("IN_QUEUE"),
    model.count("IN_PROGRESS"),
    model.completed,
    model.failed,
  ].join();
  if (counted !== expected) throw new Error(`health says ${counted}, not ${expected}`);
  freeWindows();
  for (const batch of model.batches) await compareBatch(model, real, batch);
  const listing = await real.stub.list({ status: null, offset: 0, limit: 500 });
  if (listing.kind !== "jobs" || listing.page.total !== model.jobs.length)
    throw new Error(`${JSON.stringify(listing)} listed`);
  const listed = listing.page.requests.map(({ id, status }) => `${id} ${status}`).toSorted();
  const known = model.jobs.map(({ id, status }) => `${id} ${status}`).toSorted();
  if (listed.join() !== known.join()) throw new Error(`listed ${listed.join()}, known ${known.join()}`);
});

async function compareBatch(model: Model, real: Real, { id, total, completed }: Batch): Promise<void> {
  const reply = await real.stub.batch({ kind: "look", batchId: id });
  const countOf = (status: string) =>
    model.jobs.filter((job) => job.batch?.id === id && job.status === status).length;
  const running = countOf("IN_PROGRESS");
  const expected = [total, running, completed, total - running - completed - countOf("IN_QUEUE")].join();
  const summary = reply.kind === "batch" ? reply.batch : null;
  const counted = [
    summary?.requestTotal,
    summary?.requestInProgress,
    summary?.requestCompleted,
    summary?.requestFailed,
  ].join();
  if (counted !== expected) throw new Error(`batch ${id} says ${counted}, not ${expected}`);
}

/** Lets the rate limits of rare operations forget what came before. */
function freeWindows(): void {
  passTime(RATE_WINDOW_MS + 1_000);
}

const pick = fc.nat(20);
const commands = fc.commands(
  [
    fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 5 })).map(([isLow, count]) => submit(isLow, count)),
    fc.integer({ min: 1, max: 4 }).map(claim),
    pick.map((value) => endRunning(value, "completed")),
    pick.map((value) => endRunning(value, "failed")),
    pick.map((value) => endRunning(value, "undelivered")),
    pick.map(cancel),
    fc.array(fc.boolean(), { maxLength: 5 }).map(startBatch),
    pick.map(cancelBatch),
    pick.map(retry),
    fc.constant(purge),
    fc.constant(forget),
    fc.constant(forget),
    fc.constant(wait),
    fc.constant(compare),
    fc.constant(compare),
  ],
  { maxCommands: 40 },
);

test(
  "the object does what the model does, whatever is forgotten in between",
  { timeout: 600_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(commands, async (history) => {
        const real = await new Real().start();
        // Evicted at the end, or thousands of open databases use up the file descriptors.
        await fc.asyncModelRun(() => ({ model: new Model(), real }), [...history, compare, forget]);
      }),
      { numRuns: RUNS },
    );
  },
);
