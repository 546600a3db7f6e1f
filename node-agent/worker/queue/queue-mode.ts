import { ageMs, type Timing } from "../../core/timing.ts";
import type { AttemptLedger } from "../../journal/attempt-ledger.ts";
import type { AgentLog } from "../../core/log.ts";
import type { ReceivedBody } from "../../worker-server/bodies.ts";
import type { Poll, WorkerCalls } from "../../worker-server/poll.ts";
import type { ModeFacts, WorkerContext } from "../lifecycle/mode.ts";
import type { LifeEnd } from "../lifecycle/worker-life.ts";
import type { WorkerFailure } from "../lifecycle/restart.ts";
import { LOST_RESULTS_MAX, WorkerJobs } from "./worker-jobs.ts";

export type QueueModeOptions = {
  readonly ledger: AttemptLedger;
  readonly log: AgentLog;
  readonly timing: Timing;
};

/** Processes the jobs of a queue: the container polls for them, and is ready with its first poll. */
export class QueueMode implements WorkerCalls {
  readonly kind = "queue";
  readonly calls: WorkerCalls = this;
  readonly jobs: WorkerJobs;
  readonly #worker: WorkerContext;
  readonly #timing: Timing;
  #isRefreshing = false;
  #unhealthyReason: string | null = null;
  /** Since when the container could poll for a job and does not. */
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

  // State

  /** Free slots that may be offered to the edge. */
  freeSlots(): number {
    return this.#takesNewJobs() ? this.jobs.freeSlots() : 0;
  }

  /** How many more jobs would start soon. A worker between two polls gets them with the next one. */
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

  /** Why a container was ended that did not exit, to be read after "it"; null when that is no failure. */
  failureOf(end: LifeEnd | null): Omit<WorkerFailure, "lastLine"> | null {
    if (end === "start_limit") {
      const reason = `did not ask for a job within ${formatSeconds(this.#worker.outline.startLimitMs)} of its start`;
      return { kind: "start_limit_exceeded", reason };
    }
    if (end === "silent") {
      const limit = formatSeconds(this.#timing.silenceLimitMs);
      const reason = `took jobs, but has asked for none for ${limit} though it had none: its loop has ended, its process has not`;
      return { kind: "fell_silent", reason };
    }
    if (end === "mute") {
      const reason = `posted no result for ${LOST_RESULTS_MAX} jobs one after the other; either its results cannot be encoded as JSON, or they do not get through to the agent`;
      return { kind: "fell_silent", reason };
    }
    return null;
  }

  // Calls of the container

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
    this.#worker.status.startTimes.record("runtimeStarted");
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

  // Events of the worker's life

  /** A new container is started. */
  reset(): void {
    this.#isRefreshing = false;
    this.#unhealthyReason = null;
    this.#silentSince = null;
  }

  /** Answers all polls: the container ends, or is about to be thawed. */
  halt(): void {
    this.jobs.endPolls();
  }

  end(end: LifeEnd | null): void {
    if (end === "hard_stop") this.jobs.forgetInside("The worker was stopped.");
    this.halt();
  }

  /** The agent ends, the container keeps running. */
  close(): void {
    this.jobs.close();
  }

  // Helpers

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

function formatSeconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
