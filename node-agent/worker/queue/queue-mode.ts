import { ageMs } from "../../async/age.ts";
import type { AttemptLedger } from "../../journal/attempt-ledger.ts";
import type { AgentLog } from "../../log.ts";
import type { Timing } from "../../timing.ts";
import type { ReceivedBody } from "../../worker-server/body.ts";
import type { Poll } from "../../worker-server/poll.ts";
import type { WorkerCalls } from "../../worker-server/worker-server.ts";
import type { WorkerMode, ModeFacts, WorkerContext } from "../mode.ts";
import { failureOf } from "../lifecycle/failure.ts";
import type { LifeEnd } from "../lifecycle/worker-life.ts";
import type { Failure } from "../lifecycle/restart.ts";
import { WorkerJobs } from "./worker-jobs.ts";

export type QueueModeOptions = {
  readonly ledger: AttemptLedger;
  readonly log: AgentLog;
  readonly timing: Timing;
};

/** Work on the jobs of a queue: the container asks for them, and is ready with its first question. */
export class QueueMode implements WorkerMode, WorkerCalls {
  readonly calls: WorkerCalls = this;
  readonly queue = this;
  readonly gate = null;
  readonly jobs: WorkerJobs;
  readonly #worker: WorkerContext;
  readonly #timing: Timing;
  #isRefreshing = false;
  #unhealthyReason: string | null = null;
  /** Since when the container could ask for a job and does not. */
  #silentSince: number | null = null;

  constructor(worker: WorkerContext, options: QueueModeOptions) {
    this.#worker = worker;
    this.#timing = options.timing;
    this.jobs = new WorkerJobs({
      ...options,
      onChange: (isWithdrawn) => worker.onChange(isWithdrawn),
      onRefresh: () => {
        this.#isRefreshing = true;
        worker.onChange(true);
      },
    });
  }

  // What there is

  /** Free slots that may be offered to the edge. */
  freeSlots(): number {
    return this.#takesNewJobs() ? this.jobs.freeSlots() : 0;
  }

  /** How many jobs that come now would start soon. A worker between two polls gets them with the next. */
  acceptableJobs(): number {
    if (!this.#takesNewJobs()) return 0;
    return this.jobs.isEmpty() ? Number.POSITIVE_INFINITY : this.jobs.freeSlots();
  }

  facts(): ModeFacts {
    const { wasReady, isFrozen } = this.#worker.container;
    const couldAsk = wasReady && !isFrozen && this.jobs.isEmpty() && !this.jobs.isAsking();
    this.#silentSince = couldAsk ? (this.#silentSince ?? performance.now()) : null;
    return {
      isRefreshing: this.#isRefreshing,
      needsHardStop: this.jobs.needsHardStop(),
      isIdle: this.jobs.isEmpty(),
      silentForMs: this.#silentSince === null ? 0 : Math.max(1, ageMs(this.#silentSince)),
      silenceLimitMs: this.#timing.silenceLimitMs,
      hasLostResults: this.jobs.hasLostResults(),
      unhealthyReason: this.#unhealthyReason,
    };
  }

  problemOf(): undefined {
    return undefined;
  }

  async planServer(): Promise<null> {
    return null;
  }

  jobIds(): readonly string[] {
    return this.jobs.idsInside();
  }

  failureOf(end: LifeEnd | null): Omit<Failure, "lastLine"> | null {
    return failureOf(end, { startLimitMs: this.#worker.outline.startLimitMs, ...this.#timing });
  }

  // Told by the container

  take(poll: Poll, maxJobs: number, hasJobInProgress: boolean | null): void {
    if (!this.#takesJobs()) return this.jobs.defer(poll, this.#pollHoldMs());
    if (!this.#worker.container.wasReady) this.#worker.markReady("asks for jobs");
    this.jobs.take(poll, maxJobs, hasJobInProgress, this.#pollHoldMs());
  }

  stopPoll(poll: Poll): void {
    this.jobs.stopPoll(poll, this.#pollHoldMs());
  }

  drop(poll: Poll): void {
    this.jobs.drop(poll);
  }

  ping(jobIds: ReadonlySet<string>, unhealthyReason: string | null): void {
    if (unhealthyReason === null) return this.jobs.ping(jobIds);
    const { container, status, isDraining, onChange } = this.#worker;
    this.#unhealthyReason = `reported itself unhealthy: ${unhealthyReason}`;
    if (container.readyForMs() >= this.#timing.healthyMs) status.resetFailures();
    if (!isDraining()) status.setState("unhealthy", this.#unhealthyReason);
    onChange(true);
  }

  holds(jobId: string): boolean {
    return this.jobs.holds(jobId);
  }

  result(jobId: string, body: ReceivedBody): Promise<void> {
    return this.jobs.result(jobId, body);
  }

  chunk(jobId: string, body: ReceivedBody): void {
    this.jobs.chunk(jobId, body);
  }

  // Told by the worker's life

  reset(): void {
    this.#isRefreshing = false;
    this.#unhealthyReason = null;
    this.#silentSince = null;
  }

  onRunning(): void {}

  beforeFreeze(): void {}

  onChanged(): void {}

  halt(): void {
    this.jobs.endPolls();
  }

  end(end: LifeEnd | null): void {
    if (end === "hard_stop") this.jobs.forgetInside("The worker was stopped.");
    this.halt();
  }

  loseJobs(reason: string): void {
    this.jobs.loseAll(reason);
  }

  close(): void {
    this.jobs.close();
  }

  // Small parts

  #takesJobs(): boolean {
    return this.#worker.isAlive() && this.#unhealthyReason === null;
  }

  #takesNewJobs(): boolean {
    return (
      this.#takesJobs() && this.#worker.acceptsWork() && !this.#isRefreshing && !this.jobs.hasOverdueStop()
    );
  }

  #pollHoldMs(): number {
    return this.#worker.isDraining() ? this.#timing.drainPollHoldMs : this.#timing.pollHoldMs;
  }
}
