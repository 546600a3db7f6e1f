/**
 * Jobs that run in a worker and that nobody waits for: an agent that starts again knows nothing of handlers that the one
 * before was stopping, since their attempts are settled. Pings of the worker name them.
 */
import { ageMs } from "../../core/timing.ts";

export class StrayJobs {
  readonly #graceMs: number;
  /** By their ids, and since when they are known. */
  readonly #since = new Map<string, number>();
  /** Later, a ping may name a job that has just ended. */
  #mayFind = false;
  /** False while there may be some that no ping has named yet. */
  #areKnown = true;

  /** `graceMs`: so long a handler may go on. */
  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  /** The container was started by an earlier agent process. */
  expect(): void {
    this.#mayFind = true;
    this.#areKnown = false;
  }

  /** Its handlers may have jobs that are not this agent's. */
  mayRun(): boolean {
    return !this.#areKnown || this.#since.size > 0;
  }

  /** The worker says that it has no job. */
  nothingInProgress(): void {
    this.#areKnown = true;
  }

  /** A job of this agent has ended, which pings may still name. */
  jobEnded(): void {
    this.#mayFind = false;
  }

  /** The worker has posted its result. */
  ended(jobId: string): void {
    this.#since.delete(jobId);
  }

  /** The container is gone. */
  clear(): void {
    this.#since.clear();
    this.#mayFind = false;
    this.#areKnown = true;
  }

  /** A ping has named these jobs; `isKnown`: the job is one of this agent. */
  ping(jobIds: ReadonlySet<string>, isKnown: (jobId: string) => boolean): void {
    for (const jobId of this.#since.keys()) if (!jobIds.has(jobId)) this.#since.delete(jobId);
    for (const jobId of this.#mayFind ? jobIds : [])
      if (!isKnown(jobId) && !this.#since.has(jobId)) this.#since.set(jobId, performance.now());
    // Some workers' pings never name any.
    if (jobIds.size > 0 && [...jobIds].every((jobId) => isKnown(jobId) || this.#since.has(jobId)))
      this.#areKnown = true;
  }

  /** One of them has had its grace period. */
  hasOverdue(): boolean {
    return [...this.#since.values()].some((since) => ageMs(since) >= this.#graceMs);
  }
}
