/** Work on the jobs of a preview's queue, as the agent of a host hands them to a container. */
import { WorkerJobs } from "../../../node-agent/worker/queue/worker-jobs.ts";
import type { AgentLog } from "../../../node-agent/core/log.ts";
import type { Timing } from "../../../node-agent/core/timing.ts";
import type { ReceivedBody } from "../../../node-agent/worker-server/bodies.ts";
import type { Poll, WorkerCalls } from "../../../node-agent/worker-server/poll.ts";
import type { PreviewQueue } from "../queue/preview-queue.ts";

export type QueueWorkOptions = {
  readonly workerId: string;
  readonly queue: PreviewQueue;
  readonly log: AgentLog;
  readonly timing: Timing;
  /** The container has asked for jobs. */
  readonly onAsked: () => void;
  /** The container has said that it is unfit. */
  readonly onUnhealthy: (reason: string) => void;
  /** The container shall be replaced: a result asks for it, or a handler that must stop does not. */
  readonly onRenew: () => void;
};

export class QueueWork implements WorkerCalls {
  readonly #options: QueueWorkOptions;
  readonly #jobs: WorkerJobs;
  #isRenewing = false;

  constructor(options: QueueWorkOptions) {
    this.#options = options;
    const { queue, log, timing } = options;
    this.#jobs = new WorkerJobs({
      ledger: queue,
      log,
      timing,
      onChange: () => this.feed(),
      onRefresh: () => this.#renewWhenQuiet(),
    });
  }

  get isBusy(): boolean {
    return this.#jobs.idsInside().length > 0;
  }

  /** Hands waiting jobs to the container, as many as it asks for. */
  feed(): void {
    if (this.#jobs.needsHardStop()) return this.#renew();
    if (this.#isRenewing) return void (this.#jobs.isEmpty() && this.#renew());
    if (this.#jobs.hasOverdueStop()) return;
    const claimed = this.#options.queue.claim(this.#options.workerId, this.#jobs.freeSlots());
    if (claimed.length > 0) this.#jobs.accept(claimed);
  }

  stop(jobId: string, attempt: number, reason: "cancelled" | "timed_out" | "expired"): void {
    this.#jobs.stop(jobId, attempt, reason);
  }

  /** The container is gone: what ran in it is lost. */
  lose(reason: string): void {
    this.#isRenewing = false;
    this.#jobs.endPolls();
    this.#jobs.loseAll(reason);
  }

  close(): void {
    this.#jobs.close();
  }

  // The worker protocol

  take(poll: Poll, wish: number, hasJobInProgress: boolean | null): void {
    this.#options.onAsked();
    this.#jobs.take(poll, wish, hasJobInProgress, this.#options.timing.pollHoldMs);
  }

  stopPoll(poll: Poll): void {
    this.#jobs.stopPoll(poll, this.#options.timing.pollHoldMs);
  }

  drop(poll: Poll): void {
    this.#jobs.drop(poll);
  }

  ping(jobIds: ReadonlySet<string>, unhealthyReason: string | null): void {
    if (unhealthyReason !== null) this.#options.onUnhealthy(unhealthyReason);
    else this.#jobs.ping(jobIds);
  }

  holds(jobId: string): boolean {
    return this.#jobs.holds(jobId);
  }

  async result(jobId: string, body: ReceivedBody): Promise<void> {
    await this.#jobs.result(jobId, body);
  }

  chunk(jobId: string, body: ReceivedBody): void {
    this.#jobs.chunk(jobId, body);
  }

  #renewWhenQuiet(): void {
    this.#isRenewing = true;
    this.feed();
  }

  #renew(): void {
    this.#isRenewing = true;
    this.#options.onRenew();
  }
}
