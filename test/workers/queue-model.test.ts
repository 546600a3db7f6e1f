/**
 * Random histories on the real object, against the model: what clients are told, and that what is kept in
 * memory says what the rows say, also after the memory was lost.
 *
 *   MODEL_RUNS=10000 npx vitest run --project workers test/workers/queue-model.test.ts
 *   MODEL_SEED=… MODEL_PATH=…   the same history again, as a failure names it
 */
import { env } from "cloudflare:workers";
import fc from "fast-check";
import type { HealthBody } from "../../src/contract/job.ts";
import { afterEach, beforeEach, test, vi } from "vitest";
import type { EndpointConfig } from "../../src/contract/endpoint.ts";
import type { FleetReport } from "../../src/domain/jobs/queue-reason.ts";
import { packRequests } from "../../src/domain/jobs/batch.ts";
import type { Payload } from "../../src/domain/jobs/job-machine.ts";
import { RATE_WINDOW_MS } from "../../src/contract/rate-limits.ts";
import type { EndpointObject } from "../../src/endpoint/endpoint-object.ts";
import type {
  Chunks,
  ExchangeReply,
  RunningAttempt,
  AttemptReport,
  SubmitCall,
} from "../../src/endpoint/messages.ts";
import { endpointObject, evict, fireAlarm, passTime } from "./object.ts";
import { QueueModel, type ModelBatch, type ModelJob } from "./queue-model.ts";

const WORKER = "worker1";
const HOST = "host1";
const LIAR = "host2";
const TTLS = [10_000, 60_000, 3_600_000, 86_400_000];
const EXECUTION_TIMEOUTS = [5_000, 600_000, 7_200_000];
/** Bytes in R2, none for half of the payloads. */
const PAYLOADS = [0, 0, 300_000, 700_001];
/** Just before and after ttl, execution timeouts, leases, both retentions, and far beyond. */
const STEPS = [1_000, 4_999, 10_000, 59_999, 120_000, 599_000, 1_800_000, 7_200_000];

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

type ExchangeParts = {
  readonly reports?: readonly AttemptReport[];
  readonly chunks?: readonly Chunks[];
  readonly free?: number;
  readonly leftOut?: ModelJob;
  readonly newestReplyAt?: number;
  readonly isHolding?: boolean;
};

class Real {
  readonly endpointId = crypto.randomUUID().replaceAll("-", "").slice(0, 14);

  get stub() {
    return endpointObject(this.endpointId) as unknown as Pick<
      EndpointObject,
      | "configure"
      | "fleetReport"
      | "submit"
      | "status"
      | "drain"
      | "cancel"
      | "retry"
      | "purge"
      | "list"
      | "health"
      | "exchange"
      | "acceptsUpload"
      | "batch"
      | "batchRequests"
      | "vitals"
    >;
  }

  async start(): Promise<this> {
    await this.stub.configure(configOf(this.endpointId));
    await this.stub.fleetReport(LAST_REPORT);
    return this;
  }

  /** An agent's call: it lists all that it has, but for a job that never arrived. */
  exchange(model: QueueModel, parts: ExchangeParts): Promise<ExchangeReply> {
    const now = Date.now();
    model.wake(now);
    model.turn += 1;
    const reported = new Set((parts.reports ?? []).map(({ jobId }) => jobId));
    const holding = model.running(now).filter((job) => job !== parts.leftOut && !reported.has(job.id));
    const held: RunningAttempt[] = holding.map(({ id, attempt, progress }) => ({
      jobId: id,
      attempt,
      progressJson: progress,
    }));
    for (const job of holding) job.leaseUntil = now + 120_000;
    model.isProgressKnown = true;
    return this.stub.exchange({
      hostId: HOST,
      session: "s",
      turn: model.turn,
      newestReplyAt: parts.newestReplyAt,
      openTurns: [],
      running: held,
      reports: parts.reports ?? [],
      chunks: parts.chunks ?? [],
      slots: parts.free ? [{ workerId: WORKER, free: parts.free }] : [],
      isWaiting: parts.isHolding ?? false,
    });
  }
}

/** In the model the worker is always there: Fleet goes on counting from here, and cannot, for the next number is the same. */
const LAST_REPORT: FleetReport = {
  revision: 2 ** 53,
  workers: [{ workerId: WORKER, hostId: HOST, state: "ready", detail: null, version: 1 }],
  missing: 0,
  shortage: null,
};

function configOf(endpointId: string): EndpointConfig {
  return {
    endpointId,
    accountId: "a",
    name: "model",
    type: "QB",
    version: 1,
    // Always one, so that Fleet is told once and the object goes on by itself.
    workersMin: 1,
    workersMax: 1,
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

// Commands

type Command = fc.AsyncCommand<QueueModel, Real>;

function command(name: string, run: (model: QueueModel, real: Real, now: number) => Promise<void>): Command {
  return {
    check: () => true,
    run: (model, real) => {
      const now = Date.now();
      return run(model, real, now);
    },
    toString: () => name,
  };
}

function must(isRight: boolean, what: string): asserts isRight {
  if (!isRight) throw new Error(what);
}

function choose<T>(list: readonly T[], pick: number): T | undefined {
  return list[pick % Math.max(1, list.length)];
}

type Kind = {
  readonly isLowPriority: boolean;
  readonly isSync: boolean;
  readonly ttlMs: number;
  readonly executionTimeoutMs: number;
  /** Size of the input in R2; 0 for a small one. */
  readonly inputBytes: number;
};

function requestOf(
  { inputBytes, ...kind }: Kind,
  idempotencyKey: string | null,
): SubmitCall & { hasWebhook: boolean } {
  const input = payloadOf(inputBytes, "1");
  return { ...kind, input, optionsJson: "{}", hasWebhook: false, idempotencyKey, holdMs: 0 };
}

/** A payload of so many bytes in R2, of an object with spaces at its end if the number is odd; `json` for none. */
function payloadOf(sizeBytes: number, json: string): Payload {
  if (sizeBytes === 0) return { kind: "inline", json };
  const stored = { kind: "stored", key: `jobs/model/${crypto.randomUUID()}`, sizeBytes } as const;
  return sizeBytes % 2 === 0 ? stored : { ...stored, objectBytes: sizeBytes + 1_000 };
}

async function submitOne(model: QueueModel, real: Real, kind: Kind, key: string, now: number) {
  const reply = await real.stub.submit(requestOf(kind, key));
  must(reply.kind === "submitted" && reply.isNew, `submitted as new: ${JSON.stringify(reply)}`);
  return model.add({ ...kind, id: reply.view.id, key, expiresAt: now + kind.ttlMs });
}

const submit = (kind: Kind, count: number) =>
  command(`submit ${count} ${JSON.stringify(kind)}`, async (model, real, now) => {
    model.wake(now);
    const keys = Array.from({ length: count }, () => crypto.randomUUID());
    await Promise.all(keys.map((key) => submitOne(model, real, kind, key, now)));
  });

const submitAgain = (kind: Kind, pick: number) =>
  command(`submit again #${pick}`, async (model, real, now) => {
    model.wake(now);
    const known = choose(
      model.jobs.filter(({ batch }) => !batch), // those have no keys
      pick,
    );
    if (!known) return;
    const newest = model.jobs.findLast(({ key }) => key === known.key) ?? known;
    if (!model.visible(now).includes(newest)) {
      await submitOne(model, real, kind, known.key, now);
      return;
    }
    const reply = await real.stub.submit(requestOf(kind, known.key));
    must(reply.kind === "submitted" && !reply.isNew, "not taken for the same");
    must(reply.view.id === newest.id && reply.view.status === newest.status, "another job for the same key");
  });

/** Notes what an exchange handed out, each lane in its order. */
function noteJobs(model: QueueModel, reply: ExchangeReply, now: number): number {
  must(reply.kind === "answer", reply.kind);
  const queues = [model.queue(false, now), model.queue(true, now)];
  for (const { jobId, attempt } of reply.jobs) {
    const queue = queues.find(([head]) => head?.id === jobId);
    must(queue !== undefined, `${jobId} is at the head of no queue`);
    const job = queue.shift();
    must(job !== undefined && attempt === job.attempt + 1, `attempt ${attempt} of ${jobId}`);
    model.claim(job, now);
  }
  return reply.jobs.length;
}

const claim = (free: number) =>
  command(`claim ${free}`, async (model, real, now) => {
    const queued = model.count("IN_QUEUE", now);
    const taken = noteJobs(model, await real.exchange(model, { free }), now);
    must(taken === Math.min(free, queued), `${taken} jobs of ${queued}`);
  });

/** An agent waits in the object when the job comes: it is claimed in the write that adds it. */
const claimWhileWaiting = (kind: Kind) =>
  command("submit to a waiting agent", async (model, real, now) => {
    const waiting = real.exchange(model, { free: 1, isHolding: true });
    await submitOne(model, real, kind, crypto.randomUUID(), now);
    const reply = await waiting;
    if (reply.kind === "answer") noteJobs(model, reply, now);
    else must(reply.kind === "quiet", reply.kind);
  });

const endRunning = (pick: number, kind: "completed" | "failed" | "lost" | "timed_out", outputBytes: number) =>
  command(`${kind} #${pick} with ${outputBytes}`, async (model, real, now) => {
    const job = choose(model.running(now), pick);
    if (!job) return;
    const reply = await real.exchange(model, { reports: [reportOf(job, kind, outputBytes)] });
    must(reply.kind === "answer" && reply.acks[0]?.outcome === "accepted", `refused: ${kind}`);
    if (kind === "lost") model.requeue(job, true, now);
    else model.end(job, kind === "completed" ? "COMPLETED" : kind === "failed" ? "FAILED" : "TIMED_OUT", now);
  });

function reportOf(
  { id: jobId, attempt }: Pick<ModelJob, "id" | "attempt">,
  kind: AttemptReport["kind"],
  outputBytes = 0,
): AttemptReport {
  const ref = { jobId, attempt };
  switch (kind) {
    case "completed":
      return { kind, ...ref, output: payloadOf(outputBytes, "2") };
    case "failed":
      return { kind, ...ref, error: "e", output: outputBytes > 0 ? payloadOf(outputBytes, "") : null };
    case "timed_out":
      return { kind, ...ref };
    case "lost":
      return { kind, ...ref, reason: "gone." };
  }
}

const reportLate = (pick: number) =>
  command(`late report #${pick}`, async (model, real, now) => {
    const ended = model.jobs.filter((job) => job.attempt > 0 && !model.running(now).includes(job));
    const job = choose(ended, pick);
    if (!job) return;
    const reply = await real.exchange(model, { reports: [reportOf(job, "completed")] });
    must(reply.kind === "answer" && reply.acks[0]?.outcome === "refused", "a late report was accepted");
  });

/**
 * A host without a worker of the endpoint claims, reports, yields, keeps alive and uploads what is another host's,
 * or was: it gets nothing, and nothing comes of it.
 */
const lie = (pick: number, kind: AttemptReport["kind"], value: number) =>
  command(`a host lies: ${kind} #${pick}`, async (model, real, now) => {
    model.wake(now);
    model.turn += 1;
    const job = choose(model.jobs, pick);
    const { id: jobId, attempt } = { attempt: Math.max(1, job?.attempt ?? 1), id: job?.id ?? "none" };
    const outputs = [{ json: `"${value}"`, sizeBytes: 3 }];
    const reply = await real.stub.exchange({
      hostId: LIAR,
      session: "s", // also that of another host
      turn: model.turn,
      openTurns: [],
      running: [
        { jobId, attempt, progressJson: String(value), handlerStartedAt: now, handlerFinishedAt: now },
      ],
      reports: [reportOf({ id: jobId, attempt }, kind)],
      chunks: [{ jobId, attempt, from: 1, outputs }],
      slots: [WORKER, "invented"].map((workerId) => ({ workerId, free: 5 })),
      isWaiting: false,
    });
    must(reply.kind === "answer" && reply.jobs.length === 0, `it got ${JSON.stringify(reply)}`);
    must(reply.acks[0]?.outcome === "refused", "its report was accepted");
    const upload = { jobId, attempt, hostId: LIAR, key: "none" };
    const verdict = await real.stub.acceptsUpload(upload);
    must(verdict.kind === "answer" && !verdict.isAccepted, "its upload is accepted");
  });

const loseOnTheWay = (pick: number) =>
  command(`undelivered #${pick}`, async (model, real, now) => {
    const job = choose(model.running(now), pick);
    if (!job) return;
    // After a loss of memory only a call is believed that was made after a later reply.
    await real.exchange(model, { leftOut: job, newestReplyAt: now + 1 });
    model.requeue(job, false, now);
  });

const progress = (pick: number, value: number) =>
  command(`progress #${pick}`, async (model, real, now) => {
    const job = choose(model.running(now), pick);
    if (!job) return;
    job.progress = String(value);
    await real.exchange(model, {});
  });

const yieldChunks = (pick: number, shift: number, count: number) =>
  command(`yield #${pick} ${count} from ${shift}`, async (model, real, now) => {
    const job = choose(model.running(now), pick);
    if (!job) return;
    const received = job.streamAttempt === job.attempt ? job.received : 0;
    const from = Math.max(1, received + 1 + shift);
    // A chunk that comes again is the same chunk.
    const values = Array.from({ length: count }, (_, index) => `"${job.attempt}.${from + index}"`);
    const outputs = values.map((json) => ({ json, sizeBytes: json.length }));
    const reply = await real.exchange(model, {
      chunks: [{ jobId: job.id, attempt: job.attempt, from, outputs }],
    });
    const expected = model.yieldChunks(job, from, values);
    must(reply.kind === "answer", reply.kind);
    must(
      reply.chunkAcks[0]?.received === expected,
      `${reply.chunkAcks[0]?.received} chunks, not ${expected}`,
    );
  });

const drain = (pick: number) =>
  command(`drain #${pick}`, async (model, real, now) => {
    model.wake(now);
    const job = choose(model.visible(now), pick);
    if (!job) return;
    const reply = await real.stub.drain(job.id, 0, null);
    must(reply.kind === "found" && reply.status === job.status, `${reply.kind} for ${job.status}`);
    const got = reply.runs.map(({ wire }) => wire).join();
    const expected = model.drain(job).map((value) => `{"output":${value}}`);
    must(got === expected.join(), `drained ${got}, not ${expected.join()}`);
  });

const cancel = (pick: number) =>
  command(`cancel #${pick}`, async (model, real, now) => {
    model.wake(now);
    const job = choose(model.jobs, pick);
    if (!job) return;
    const reply = await real.stub.cancel(job.id);
    if (!model.visible(now).includes(job)) return must(reply.kind === "not_found", `gone, but ${reply.kind}`);
    if (job.status === "IN_QUEUE" || job.status === "IN_PROGRESS") model.end(job, "CANCELLED", now);
    must(reply.kind === "done" && reply.status === job.status, `${JSON.stringify(reply)} for ${job.status}`);
  });

const retry = (pick: number) =>
  command(`retry #${pick}`, async (model, real, now) => {
    model.wake(now);
    const job = choose(model.jobs, pick);
    if (!job) return;
    const reply = await real.stub.retry(job.id);
    const isRetryable = job.status === "FAILED" || job.status === "TIMED_OUT";
    const expected = model.visible(now).includes(job)
      ? isRetryable
        ? "done"
        : "not_retryable"
      : "not_found";
    must(reply.kind === expected, `${reply.kind} for ${job.status}`);
    if (reply.kind === "done") model.retry(job);
  });

const startBatch = (kinds: readonly Kind[]) =>
  command(`batch of ${JSON.stringify(kinds)}`, async (model, real) => {
    freeWindows();
    const now = Date.now();
    model.wake(now);
    const packs = packRequests(kinds.map((value) => requestOf(value, null)));
    const made = await real.stub.batch({ kind: "create", packs, idempotencyKey: null });
    if (made.kind === "rate_limited" && made.measure === "batches") return;
    must(made.kind === "batch", made.kind);
    const batch = { id: made.batch.id, total: kinds.length, completed: 0 };
    model.batches.push(batch);
    const started = await real.stub.batch({ kind: "finalize", batchId: batch.id });
    must(started.kind === "batch" && started.batch.status === "FINALIZED", JSON.stringify(started));
    const page = await real.stub.batchRequests({ batchId: batch.id, offset: 0, limit: 50, isFirst: true });
    must(page.kind === "batch_requests" && page.requests.length === kinds.length, JSON.stringify(page));
    for (const [index, value] of kinds.entries()) {
      const id = page.requests[index]?.id ?? "";
      const expiresAt = now + value.ttlMs;
      model.add({ ...value, isSync: false, id, key: crypto.randomUUID(), expiresAt, batch });
    }
  });

const cancelBatch = (pick: number) =>
  command(`cancel batch #${pick}`, async (model, real) => {
    freeWindows();
    const now = Date.now();
    model.wake(now);
    const batch = choose(model.batches, pick);
    if (!batch) return;
    const reply = await real.stub.batch({ kind: "cancel", batchId: batch.id });
    if (reply.kind === "batch_not_found") return;
    must(reply.kind === "batch", reply.kind);
    const waiting = model.visible(now).filter((job) => job.batch === batch && job.status === "IN_QUEUE");
    for (const job of waiting) model.end(job, "CANCELLED", now);
  });

const purge = command("purge", async (model, real) => {
  freeWindows();
  const now = Date.now();
  model.wake(now);
  const waiting = [...model.queue(false, now), ...model.queue(true, now)];
  const reply = await real.stub.purge();
  must(reply.kind === "purged", reply.kind);
  const isRight = reply.removed >= waiting.length && reply.removed <= waiting.length + model.unswept(now);
  must(isRight, `purged ${reply.removed} of ${waiting.length}`);
  model.purge(now);
});

const forget = command("evict", async (model, real, now) => {
  model.wake(now);
  await real.stub.health(); // only what is awake can be evicted
  await evict(real.endpointId);
  model.isAsleep = true;
  model.isProgressKnown = false;
});

const pass = (ms: number) =>
  command(`${ms} ms pass`, async () => {
    passTime(ms);
  });

const alarm = command("alarm", async (model, real, now) => {
  model.wake(now);
  await real.stub.health(); // awake, so that leases of a lost memory begin now
  await fireAlarm(real.endpointId);
  model.sweep(now);
});

const compare = command("compare", async (model, real) => {
  freeWindows();
  const now = Date.now();
  model.wake(now);
  await compareJobs(model, real, now);
  await compareCounters(model, real, now);
  await compareList(model, real, now);
  await compareStorage(real);
  for (const batch of model.batches) await compareBatch(model, real, batch, now);
});

async function compareJobs(model: QueueModel, real: Real, now: number): Promise<void> {
  const visible = new Set(model.visible(now));
  for (const job of model.jobs) {
    const reply = await real.stub.status(job.id, 0);
    const status = reply.kind === "found" ? reply.view.status : reply.kind;
    const expected = visible.has(job) ? job.status : "not_found";
    must(status === expected, `${job.id} is ${status}, not ${expected}`);
    if (reply.kind !== "found") continue;
    must((reply.view.retries ?? 0) === job.retries, `${reply.view.retries} retries, not ${job.retries}`);
    if (status !== "IN_PROGRESS" || !model.isProgressKnown) continue;
    const shown = reply.view.output?.kind === "inline" ? reply.view.output.json : null;
    must(shown === job.progress, `progress ${shown}, not ${job.progress}`);
  }
}

function jobsIn(healthJson: string): HealthBody["jobs"] {
  return (JSON.parse(healthJson) as HealthBody).jobs;
}

async function compareCounters(model: QueueModel, real: Real, now: number): Promise<void> {
  const reply = await real.stub.health();
  must(reply.kind === "health", reply.kind);
  const { inQueue, inProgress, completed, failed, retried } = jobsIn(reply.json);
  const counted = [completed, failed, retried].join();
  const expected = [model.completed, model.failed, model.retried].join();
  must(counted === expected, `health says ${counted}, not ${expected}`);
  // What expired counts until it is swept.
  const surplus = inQueue + inProgress - model.count("IN_QUEUE", now) - model.count("IN_PROGRESS", now);
  must(surplus >= 0 && surplus <= model.unswept(now), `${inQueue} queued, ${inProgress} running`);
  must(inQueue >= model.count("IN_QUEUE", now), `${inQueue} queued`);
  must(inProgress >= model.count("IN_PROGRESS", now), `${inProgress} running`);
}

async function compareList(model: QueueModel, real: Real, now: number): Promise<void> {
  const listing = await real.stub.list({ status: null, offset: 0, limit: 500 });
  must(listing.kind === "jobs", listing.kind);
  const visible = model.visible(now);
  must(listing.page.total === visible.length, `${listing.page.total} listed, not ${visible.length}`);
  const listed = listing.page.requests.map(({ id, status }) => `${id} ${status}`).toSorted();
  const known = visible.map(({ id, status }) => `${id} ${status}`).toSorted();
  must(listed.join() === known.join(), `listed ${listed.join()}, known ${known.join()}`);
}

/** What is counted is what the rows say. */
async function compareStorage(real: Real): Promise<void> {
  const { storedBytes } = await real.stub.vitals();
  const expected = await storedBytesOfRows(real.endpointId);
  must(storedBytes === expected, `${storedBytes} bytes in R2, not ${expected}`);
}

async function compareBatch(model: QueueModel, real: Real, batch: ModelBatch, now: number): Promise<void> {
  const { id, total, completed } = batch;
  const visible = model.visible(now).filter((job) => job.batch === batch);
  const countOf = (status: string) => visible.filter((job) => job.status === status).length;
  const running = countOf("IN_PROGRESS");
  const expected = [total, running, completed, total - running - completed - countOf("IN_QUEUE")];
  const reply = await real.stub.batch({ kind: "look", batchId: id });
  if (reply.kind === "batch_not_found") return must(visible.length === 0, "forgotten before its jobs");
  must(reply.kind === "batch", reply.kind);
  const { requestTotal, requestInProgress, requestCompleted, requestFailed } = reply.batch;
  const counted = [requestTotal, requestInProgress, requestCompleted, requestFailed];
  must(counted.join() === expected.join(), `batch ${id} says ${counted.join()}, not ${expected.join()}`);
}

/** When the time of all jobs is over and the sweep has gone by, nothing is left, of rows and of counters. */
const wipe = command("all time passes", async (model, real) => {
  for (let round = 0; round < 3; round += 1) {
    passTime(8 * 86_400_000);
    await fireAlarm(real.endpointId);
  }
  const reply = await real.stub.health();
  must(reply.kind === "health", reply.kind);
  const { inQueue, inProgress } = jobsIn(reply.json);
  must(inQueue + inProgress === 0, `${inQueue} queued and ${inProgress} running are left`);
  must((await rowsOf(real.endpointId)) === 0, "rows are left");
  must((await real.stub.vitals()).storedBytes === 0, "bytes are left");
  model.jobs.length = 0;
  model.batches.length = 0;
});

async function rowsOf(endpointId: string): Promise<number> {
  const { runInDurableObject } = await import("cloudflare:test");
  return runInDurableObject(endpointObject(endpointId), (_, { storage }) =>
    ["job", "requeued", "chunk", "drained", "idempotency", "batch", "batch_pack"]
      .map((table) => storage.sql.exec(`SELECT * FROM ${table}`).toArray().length)
      .reduce((sum, count) => sum + count),
  );
}

async function storedBytesOfRows(endpointId: string): Promise<number> {
  const { runInDurableObject } = await import("cloudflare:test");
  const { inputs, outputs, requests } = await runInDurableObject(
    endpointObject(endpointId),
    (_, { storage }) =>
      storage.sql
        .exec<{ inputs: number; outputs: number; requests: number }>(
          `SELECT (SELECT total(stored_input) FROM job) AS inputs,
                  (SELECT total(CAST(substr(output, 2) AS INTEGER)) FROM job WHERE output LIKE '@%') AS outputs,
                  (SELECT total(coalesce(value ->> '$.input.objectBytes', value ->> '$.input.sizeBytes'))
                     FROM batch_pack, json_each(requests)) AS requests`,
        )
        .one(),
  );
  return inputs + outputs + requests;
}

/** Lets the rate limits of rare operations forget what came before. */
function freeWindows(): void {
  passTime(RATE_WINDOW_MS + 1_000);
}

// Histories

/** Often the same few jobs, so that much happens to one of them. */
const pick = fc.oneof(fc.constant(0), fc.nat(2), fc.nat(20));
const kind: fc.Arbitrary<Kind> = fc.record({
  isLowPriority: fc.boolean(),
  isSync: fc.boolean(),
  ttlMs: fc.constantFrom(...TTLS),
  executionTimeoutMs: fc.constantFrom(...EXECUTION_TIMEOUTS),
  inputBytes: fc.constantFrom(...PAYLOADS),
});
const commands = fc.commands(
  [
    fc.tuple(kind, fc.integer({ min: 1, max: 5 })).map(([value, count]) => submit(value, count)),
    fc.tuple(kind, pick).map(([value, which]) => submitAgain(value, which)),
    kind.map(claimWhileWaiting),
    fc.array(kind, { maxLength: 5 }).map(startBatch),
    pick.map(cancelBatch),
    fc.integer({ min: 1, max: 4 }).map(claim),
    fc
      .tuple(
        pick,
        fc.constantFrom("completed", "failed", "lost", "timed_out"),
        fc.constantFrom(0, 400_000, 500_000),
      )
      .map(([which, how, bytes]) => endRunning(which, how, bytes)),
    pick.map(reportLate),
    fc
      .tuple(pick, fc.constantFrom("completed", "failed", "lost", "timed_out"), fc.nat(9))
      .map(([which, how, value]) => lie(which, how, value)),
    pick.map(loseOnTheWay),
    fc.tuple(pick, fc.nat(9)).map(([which, value]) => progress(which, value)),
    fc
      .tuple(pick, fc.integer({ min: -2, max: 1 }), fc.integer({ min: 1, max: 3 }))
      .map(([which, shift, count]) => yieldChunks(which, shift, count)),
    pick.map(drain),
    pick.map(cancel),
    pick.map(retry),
    fc.constant(purge),
    fc.constant(forget),
    fc.constant(forget),
    fc.constantFrom(...STEPS).map(pass),
    fc.constant(alarm),
    fc.constant(alarm),
    fc.constant(compare),
    fc.constant(compare),
  ],
  // Without a size, histories have ten commands at most.
  { maxCommands: 40, size: "max" },
);

test(
  "the object does what the model does, with losses of memory in between",
  { timeout: 86_400_000 },
  async () => {
    const beginAt = Date.now();
    await fc.assert(
      fc.asyncProperty(commands, async (history) => {
        vi.setSystemTime(beginAt); // each takes a month, and the calendar of alarms has an end
        const real = await new Real().start();
        // Evicted at the end, or thousands of open databases use up the file descriptors.
        const end = [compare, wipe, compare, forget];
        await fc.asyncModelRun(() => ({ model: new QueueModel(), real }), [...history, ...end]);
      }),
      {
        numRuns: Number(env.MODEL_RUNS),
        ...(env.MODEL_SEED && { seed: Number(env.MODEL_SEED) }),
        ...(env.MODEL_PATH && { path: env.MODEL_PATH }),
      },
    );
  },
);
