import { ageMs } from "../age.ts";
import type { AttemptLedger } from "../journal/attempt-ledger.ts";
import type { AgentLog } from "../log.ts";
import type { Timing } from "../timing.ts";
import type { ReceivedBody } from "../worker-server/body.ts";
import type { Poll } from "../worker-server/poll.ts";
import type { WorkerCalls } from "../worker-server/worker-server.ts";
import type { Duty, DutyFacts, DutyPost } from "./duty.ts";
import { failureOf } from "./failure.ts";
import type { LifeEnd } from "./life.ts";
import type { Failure } from "./restart.ts";
import { WorkerJobs } from "./worker-jobs.ts";

export type QueueDutyOptions = {
  readonly ledger: AttemptLedger;
  readonly log: AgentLog;
  readonly timing: Timing;
};

/** Work on the jobs of a queue: the container asks for them, and is ready with its first question. */
export class QueueDuty implements Duty, WorkerCalls {
  readonly calls: WorkerCalls = this;
  readonly queue = this;
  readonly door = null;
  readonly jobs: WorkerJobs;
  readonly #post: DutyPost;
  readonly #timing: Timing;
  #isRefreshing = false;
  #complaint: string | null = null;
  /** Since when the container could ask for a job and does not. */
  #silentSince: number | null = null;

  constructor(post: DutyPost, options: QueueDutyOptions) {
    this.#post = post;
    this.#timing = options.timing;
    this.jobs = new WorkerJobs({
      ...options,
      onChange: (isWithdrawn) => post.onChange(isWithdrawn),
      onRefresh: () => {
        this.#isRefreshing = true;
        post.onChange(true);
      },
    });
  }

  // What there is

  /** Free slots that may be offered to the edge. */
  freeSlots(): number {
    return this.#takesNewJobs() ? this.jobs.freeSlots() : 0;
  }

  /** How many jobs that come now would start soon. A worker between two polls gets them with the next. */
  room(): number {
    if (!this.#takesNewJobs()) return 0;
    return this.jobs.isEmpty() ? Number.POSITIVE_INFINITY : this.jobs.freeSlots();
  }

  facts(): DutyFacts {
    const { wasReady, isFrozen } = this.#post.container;
    const couldAsk = wasReady && !isFrozen && this.jobs.isEmpty() && !this.jobs.isAsking();
    this.#silentSince = couldAsk ? (this.#silentSince ?? performance.now()) : null;
    return {
      isRefreshing: this.#isRefreshing,
      needsHardStop: this.jobs.needsHardStop(),
      isQuiet: this.jobs.isEmpty(),
      silentForMs: this.#silentSince === null ? 0 : Math.max(1, ageMs(this.#silentSince)),
      silenceLimitMs: this.#timing.silenceLimitMs,
      isMute: this.jobs.isMute(),
      complaint: this.#complaint,
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
    return failureOf(end, { startLimitMs: this.#post.outline.startLimitMs, ...this.#timing });
  }

  // Told by the container

  take(poll: Poll, wish: number, hasJobInProgress: boolean | null): void {
    if (!this.#takesJobs()) return this.jobs.holdOff(poll, this.#pollHoldMs());
    if (!this.#post.container.wasReady) this.#post.becomeReady("asks for jobs");
    this.jobs.take(poll, wish, hasJobInProgress, this.#pollHoldMs());
  }

  stopPoll(poll: Poll): void {
    this.jobs.stopPoll(poll, this.#pollHoldMs());
  }

  drop(poll: Poll): void {
    this.jobs.drop(poll);
  }

  ping(jobIds: ReadonlySet<string>, unhealthyReason: string | null): void {
    if (unhealthyReason === null) return this.jobs.ping(jobIds);
    const { container, standing, isDraining, onChange } = this.#post;
    this.#complaint = `reported itself unhealthy: ${unhealthyReason}`;
    if (container.readyForMs() >= this.#timing.healthyMs) standing.forgive();
    if (!isDraining()) standing.become("unhealthy", this.#complaint);
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

  forget(): void {
    this.#isRefreshing = false;
    this.#complaint = null;
    this.#silentSince = null;
  }

  running(): void {}

  freezing(): void {}

  changed(): void {}

  halt(): void {
    this.jobs.releasePolls();
  }

  end(end: LifeEnd | null): void {
    if (end === "hard_stop") this.jobs.forgetInside("The worker was stopped.");
    this.halt();
  }

  lose(reason: string): void {
    this.jobs.loseAll(reason);
  }

  close(): void {
    this.jobs.close();
  }

  // Small parts

  #takesJobs(): boolean {
    return this.#post.isAlive() && this.#complaint === null;
  }

  #takesNewJobs(): boolean {
    return this.#takesJobs() && this.#post.isWanted() && !this.#isRefreshing && !this.jobs.hasOverstayed();
  }

  #pollHoldMs(): number {
    return this.#post.isDraining() ? this.#timing.drainPollHoldMs : this.#timing.pollHoldMs;
  }
}
