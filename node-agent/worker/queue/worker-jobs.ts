/**
 * The jobs of one worker: those that wait for its next poll, and those inside it.
 *
 * W1  A slot is free only while a poll of the container is open for it.
 * W2  A job counts as delivered once its reply was written whole to a live socket; otherwise it waits
 *     for the next poll of the same worker.
 * W3  The SDK knows jobs by their ids alone, so two attempts of one job are never inside a worker together.
 * W4  A handler that must stop is notified; after the grace period it is overdue. Its container gets no more jobs
 *     and is killed once nothing wanted runs in it; until then other attempts of that job are lost for it (W3). A
 *     handler that ends late gives its container back.
 * W5  Handlers that an earlier agent process was stopping are overdue past the grace period as well (StrayJobs).
 */
import type { StopReason } from "../../../src/contract/agent/agent.ts";
import type { AttemptLedger, ReceivedAttempt } from "../../journal/attempt-ledger.ts";
import type { AttemptRecord, AttemptRef, JournalAttempt } from "../../journal/journal.ts";
import type { AttemptOutcome } from "../../journal/report.ts";
import type { AgentLog } from "../../core/log.ts";
import type { Timing } from "../../core/timing.ts";
import type { ReceivedBody } from "../../worker-server/bodies.ts";
import { PollQueue, type Poll } from "../../worker-server/poll.ts";
import { readChunk, readResult } from "../../worker-server/result.ts";
import { DeliveredJob } from "./delivered-job.ts";
import { JobStops } from "./job-stops.ts";
import { StrayJobs } from "./stray-jobs.ts";
import { capacityBy, countEndedByTake, endedByTake, applyPing, type TakeEvidence } from "./evidence.ts";

/** Results in a row that a worker may fail to post before its container is replaced. */
export const LOST_RESULTS_MAX = 3;

const LOST_RESULT =
  "The worker asked for more work without having posted this job's result. Most likely the handler returned a value that JSON cannot encode; see the worker's log.";

const NEVER_ARRIVED = "The agent ended before the worker got this job.";

const BLOCKED = "The worker still ran an earlier attempt of this job, which did not stop.";

/** Where it is kept what becomes of the jobs. */
export type JobLedger = Pick<
  AttemptLedger,
  "abandon" | "report" | "recordStart" | "recordProgress" | "recordChunk" | "isOpen" | "writeErrorOf"
>;

export type WorkerJobsOptions = {
  readonly ledger: JobLedger;
  readonly log: AgentLog;
  readonly timing: Timing;
  /**
   * Called after anything that may change free slots, quiet, or the need for a hard stop.
   * `isWithdrawn`: the worker must take no jobs from this moment on.
   */
  readonly onChange: (isWithdrawn?: boolean) => void;
  /** Called when a result asks for a fresh container. */
  readonly onRefresh: () => void;
};

type PendingAttempt = {
  readonly record: AttemptRecord;
  /** What the container sees of the job, as JSON text. */
  readonly body: string;
  /** A reply with it may have arrived, though the poll had gone (W2). */
  readonly wasSent: boolean;
};

export class WorkerJobs {
  readonly #options: WorkerJobsOptions;
  readonly #takes: PollQueue<number>;
  readonly #stops: JobStops;
  readonly #deferred = new PollQueue<null>(() => {});
  #waiting: PendingAttempt[] = [];
  readonly #inside = new Map<string, DeliveredJob>();
  /** Jobs that the worker can hold, as its polls have shown; null until the first one. */
  #capacity: number | null = null;
  /** Jobs in a row that the worker has taken without posting a result. */
  #lostResults = 0;
  readonly #strays: StrayJobs;

  constructor(options: WorkerJobsOptions) {
    this.#options = options;
    this.#takes = new PollQueue(() => options.onChange());
    this.#strays = new StrayJobs(options.timing.stopGraceMs);
    this.#stops = new JobStops({
      log: options.log,
      timing: options.timing,
      jobsInside: () => this.#jobsInside(),
      requestPoll: () => this.#takes.endAll(),
      onGraceOver: () => this.#graceOver(),
    });
  }

  // What there is

  /** Jobs that open polls ask for. */
  freeSlots(): number {
    return Math.max(0, sum(this.#takes.values()) - this.#waiting.length); // W1
  }

  isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#inside.size === 0;
  }

  /** The worker asks for jobs at this moment, whether it may have some or not. */
  isAsking(): boolean {
    return this.#takes.values().length > 0 || this.#deferred.values().length > 0;
  }

  hasLostResults(): boolean {
    return this.#lostResults >= LOST_RESULTS_MAX;
  }

  /** Jobs that its handlers have. */
  idsInside(): readonly string[] {
    return [...this.#inside.keys()];
  }

  /** Jobs that its handlers may have; null while an earlier agent process may have left it others. */
  idsThatMayRun(): readonly string[] | null {
    if (this.#strays.mayRun()) return null;
    const sent = this.#waiting.filter(({ wasSent }) => wasSent).map(({ record }) => record.jobId); // W2
    return [...new Set([...this.idsInside(), ...sent])];
  }

  /** A handler still runs although its result is not wanted and its grace period is over. */
  hasOverdueStop(): boolean {
    return this.#strays.hasOverdue() || this.#jobsInside().some((job) => job.stop?.isGraceOver === true);
  }

  needsHardStop(): boolean {
    if (this.#inside.size === 0) return this.#waiting.length === 0 && this.#strays.hasOverdue();
    return this.#jobsInside().every((job) => job.stop?.isGraceOver === true); // W4
  }

  // From the edge

  accept(jobs: readonly ReceivedAttempt[]): void {
    for (const { record, job } of jobs) {
      this.#waiting.push({ record, body: encodeJob(job), wasSent: false });
    }
    this.#deliver();
  }

  /** Takes back an attempt that the journal knows from an earlier agent process. */
  adopt(record: JournalAttempt): void {
    const deliveredAgoMs = Math.max(0, Date.now() - record.receivedAt); // the clock may have been set back meanwhile
    const deliveredAt = performance.now() - deliveredAgoMs;
    const job = new DeliveredJob(record, null, deliveredAt, record.isDelivered);
    this.#inside.set(record.jobId, job);
    this.#armTimeout(job, record.executionTimeoutMs - deliveredAgoMs);
  }

  /** The container was started by an earlier agent process, of which it may have jobs that are settled. */
  expectStrays(): void {
    this.#strays.expect();
  }

  /** Stops an attempt whose result is not wanted. False when this worker does not have it. */
  stop(jobId: string, attempt: number, reason: StopReason): boolean {
    const isWaiting = this.#waiting.some(({ record }) => isAttempt(record, jobId, attempt));
    const inside = this.#inside.get(jobId);
    if (!isWaiting && inside?.ref.attempt !== attempt) return false;
    if (!this.#options.ledger.abandon(jobId, attempt)) return true;
    this.#waiting = this.#waiting.filter(({ record }) => !isAttempt(record, jobId, attempt));
    if (!isWaiting && inside) this.#stops.begin(inside, reason);
    this.#options.onChange();
    return true;
  }

  /** The container is gone: whatever has no result is lost. */
  loseAll(reason: string): void {
    const refs = [...this.#waiting.map(({ record }) => record), ...this.#jobsInside().map((job) => job.ref)];
    this.#waiting = [];
    for (const job of this.#jobsInside()) job.clearTimers();
    this.#inside.clear();
    this.#strays.clear();
    this.#capacity = null;
    this.#lostResults = 0;
    for (const ref of refs) this.#lose(ref, reason);
    this.#options.onChange();
  }

  /** Ends the jobs that the killed container still ran; jobs that wait go to its successor. */
  forgetInside(reason: string): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.loseAll(reason);
    this.#waiting = waiting;
  }

  /** The agent ends: it stops all waits, and the journal keeps the jobs. */
  close(): void {
    for (const job of this.#jobsInside()) job.clearTimers();
    this.endPolls();
  }

  endPolls(): void {
    this.#takes.endAll();
    this.#stops.endPolls();
    this.#deferred.endAll();
  }

  // Polls of the container

  take(poll: Poll, maxJobs: number, hasJobInProgress: boolean | null, holdMs: number): void {
    const evidence = {
      beganAt: poll.beganAt,
      hasJobInProgress,
      free: maxJobs + sum(this.#takes.values()),
      capacity: this.#capacity,
    };
    if (hasJobInProgress === false) this.#strays.nothingInProgress();
    this.#applyTake(evidence);
    this.#capacity = capacityBy(evidence, this.#inside.size);
    this.#takes.add(poll, maxJobs, holdMs);
    this.#deliver();
  }

  /** Holds a poll that must not get a job. */
  defer(poll: Poll, holdMs: number): void {
    this.#deferred.add(poll, null, holdMs);
  }

  stopPoll(poll: Poll, holdMs: number): void {
    this.#stops.add(poll, holdMs);
  }

  drop(poll: Poll): void {
    this.#takes.drop(poll);
    this.#stops.drop(poll);
    this.#deferred.drop(poll);
  }

  ping(jobIds: ReadonlySet<string>): void {
    const mightRun = this.#strays.mayRun();
    this.#strays.ping(jobIds, (jobId) => this.holds(jobId));
    const isOverdue = this.#strays.hasOverdue();
    if (isOverdue || this.#strays.mayRun() !== mightRun) this.#options.onChange(isOverdue);
    for (const job of this.#jobsInside()) {
      const verdict = applyPing(job.ref.jobId, job, jobIds);
      job.wasSeenInPing = verdict.wasSeenInPing;
      job.pingsWithout = verdict.pingsWithout;
      if (verdict.isEnded) this.#endWithoutResult(job);
    }
  }

  // Results

  /** Whether the worker may have the job. */
  holds(jobId: string): boolean {
    return this.#inside.has(jobId) || this.#refOf(jobId) !== undefined;
  }

  /** Takes a body posted to job-done. Resolves when it is safe to acknowledge it to the worker. */
  async result(jobId: string, body: ReceivedBody): Promise<void> {
    const { ledger, log } = this.#options;
    const ref = this.#refOf(jobId);
    const result = readResult(body);
    if (result.kind === "progress") {
      if (!ref || !ledger.recordProgress(ref, result.output)) log.info("progress_dropped", { jobId });
      return;
    }
    this.#strays.ended(jobId);
    const { wantsRefresh, ...outcome } = result;
    this.#lostResults = 0;
    const isStored = ref !== undefined && (await ledger.report(ref, outcome));
    if (!isStored) log.info("result_dropped", { jobId });
    if (ref) this.#end(ref);
    if (wantsRefresh) this.#options.onRefresh();
  }

  /** Takes a body posted to job-stream. */
  chunk(jobId: string, body: ReceivedBody): void {
    const { ledger, log } = this.#options;
    const ref = this.#refOf(jobId);
    if (!ref || !ledger.isOpen(ref)) return log.info("chunk_dropped", { jobId });
    const posted = readChunk(body);
    if (posted.kind === "failed") return this.#failInside(ref, posted.error);
    for (const output of posted.outputs) ledger.recordChunk(ref, output);
  }

  /** Ends a job that cannot succeed any more, although its handler continues. */
  #failInside(ref: AttemptRef, error: string): void {
    this.#settle(ref, { kind: "failed", error, output: undefined });
    const job = this.#inside.get(ref.jobId);
    if (job) this.#stops.begin(job, "failed");
  }

  /** The attempt that a post of the worker is about: an attempt that it never got is none, since the post is older. */
  #refOf(jobId: string): AttemptRef | undefined {
    const inside = this.#inside.get(jobId);
    if (inside) return inside.takesPosts ? inside.ref : undefined;
    return this.#waiting.find(({ record, wasSent }) => wasSent && record.jobId === jobId)?.record;
  }

  // Delivering

  #deliver(): void {
    while (this.#waiting.some(({ record }) => !this.#inside.has(record.jobId))) {
      const take = this.#takes.shift();
      if (!take) break;
      const jobs = this.#nextJobs(take.value);
      // This precedes the reply: the worker may print before this process continues, and that output is of these jobs.
      this.#options.onChange();
      void this.#deliverInto(take.poll, jobs);
    }
    this.#options.onChange();
  }

  #nextJobs(count: number): DeliveredJob[] {
    const chosen = this.#waiting.filter(({ record }) => !this.#inside.has(record.jobId)).slice(0, count); // W3
    this.#waiting = this.#waiting.filter((entry) => !chosen.includes(entry));
    return chosen.map(({ record, body }) => {
      const delivered = new DeliveredJob(record, body, null);
      this.#inside.set(record.jobId, delivered);
      return delivered;
    });
  }

  async #deliverInto(poll: Poll, jobs: readonly DeliveredJob[]): Promise<void> {
    const bodies = jobs.map((job) => job.body ?? "").join(",");
    const isWritten = await poll.send(jobs.length === 1 ? bodies : `[${bodies}]`);
    for (const job of jobs) {
      if (this.#inside.get(job.ref.jobId) !== job) continue; // ended while the reply was written
      if (isWritten) this.#confirmWritten(job);
      else this.#takeBack(job);
    }
    if (!isWritten) this.#deliver();
  }

  #confirmWritten(job: DeliveredJob): void {
    job.deliveredAt = performance.now();
    this.#options.ledger.recordStart(job.ref);
    this.#options.log.debug("job_delivered", { jobId: job.ref.jobId, workerId: job.ref.workerId });
    job.body = null; // may be megabytes
    if (!job.stop) this.#armTimeout(job, job.ref.executionTimeoutMs);
    this.#stops.flush();
  }

  /** W2: the poll had died before the whole reply was out. */
  #takeBack(delivered: DeliveredJob): void {
    const { ref, body } = delivered;
    delivered.clearTimers();
    this.#inside.delete(ref.jobId);
    this.#options.log.warn("job_delivery_failed", { jobId: ref.jobId, workerId: ref.workerId });
    if (body !== null && !delivered.stop) this.#waiting.unshift({ record: ref, body, wasSent: true });
  }

  // Stopping and timing out

  #armTimeout(job: DeliveredJob, delayMs: number): void {
    job.after(Math.max(0, delayMs), () => {
      void this.#options.ledger.report(job.ref, { kind: "timed_out" }).catch(() => {
        this.#armTimeout(job, this.#options.timing.restartBaseMs); // the journal could not be written
      });
      this.#stops.begin(job, "timed_out");
    });
  }

  #graceOver(): void {
    const blocked = this.#waiting.filter(
      ({ record }) => this.#inside.get(record.jobId)?.stop?.isGraceOver === true,
    );
    if (blocked.length > 0 && !this.needsHardStop()) {
      this.#waiting = this.#waiting.filter((attempt) => !blocked.includes(attempt));
      for (const { record } of blocked) this.#lose(record, BLOCKED);
    }
    this.#options.onChange(true);
  }

  // Ending

  #applyTake(evidence: TakeEvidence): void {
    const outstanding = this.#jobsInside().flatMap((job) => job.outstanding() ?? []);
    for (const jobId of endedByTake(evidence, outstanding)) {
      const job = this.#inside.get(jobId);
      if (job) this.#endWithoutResult(job);
    }
    // Some jobs ended, but the poll does not say which: enough to clear those that got a stop.
    const stopping = this.#jobsInside().filter((job) => job.stop?.isSent);
    const endedCount = countEndedByTake(evidence, this.#inside.size);
    if (endedCount >= stopping.length) for (const job of stopping) this.#endWithoutResult(job);
  }

  #endWithoutResult(job: DeliveredJob): void {
    const writeError = this.#options.ledger.writeErrorOf(job.ref);
    // A stopped job is expected to have no result, and what the host could not do is not the worker's fault.
    if (job.stop === null && writeError === undefined && job.isCertain) this.#lostResults += 1;
    this.#end(job.ref);
    const reason = job.isCertain ? LOST_RESULT : NEVER_ARRIVED;
    this.#lose(
      job.ref,
      writeError === undefined ? reason : `The host could not keep this job's result: ${writeError}`,
    );
  }

  /** The handler of an attempt is over. */
  #end(ref: AttemptRef): void {
    const job = this.#inside.get(ref.jobId);
    this.#strays.ended(ref.jobId);
    if (job?.ref.attempt === ref.attempt) {
      job.clearTimers();
      this.#inside.delete(ref.jobId);
    }
    this.#waiting = this.#waiting.filter(({ record }) => !isAttempt(record, ref.jobId, ref.attempt));
    this.#options.onChange();
  }

  #jobsInside(): DeliveredJob[] {
    return [...this.#inside.values()];
  }

  #lose(ref: AttemptRef, reason: string): void {
    const { ledger, log } = this.#options;
    if (!ledger.isOpen(ref)) return;
    log.warn("job_lost", { jobId: ref.jobId, attempt: ref.attempt, workerId: ref.workerId, reason });
    this.#settle(ref, { kind: "lost", reason });
  }

  #settle(ref: AttemptRef, outcome: AttemptOutcome): void {
    const { ledger, log } = this.#options;
    void ledger.report(ref, outcome).catch((error: unknown) => {
      log.error("journal_failed", { jobId: ref.jobId, reason: String(error) });
    });
  }
}

/** What the container sees of a job. */
function encodeJob({ id, input, webhook, policy, s3Config, batchId }: ReceivedAttempt["job"]): string {
  const members = JSON.stringify({ id, webhook, policy, batchId }).slice(0, -1);
  const config = s3Config === undefined ? "" : `,"s3Config":${s3Config}`;
  return `${members}${config},"input":${input}}`;
}

function isAttempt(ref: AttemptRef, jobId: string, attempt: number): boolean {
  return ref.jobId === jobId && ref.attempt === attempt;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
