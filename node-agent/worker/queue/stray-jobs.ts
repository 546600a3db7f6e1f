/**
 * Jobs that run in a worker and that nobody waits for: an agent that starts again knows nothing of handlers that the one
 * before was stopping, since their attempts are settled. Pings of the worker name them.
 */
import { ageMs } from "../../core/timing.ts";

/** A worker of which so many jobs end between two pings sends none. */
const ENDED_MAX = 1_000;

export class StrayJobs {
  readonly #graceMs: number;
  /** By their ids, and since when they are known. */
  readonly #since = new Map<string, number>();
  /** The container was started by an earlier agent process, and its pings show which jobs it has. */
  #mayFind = false;
  /** Jobs that have ended since the last ping: the next one may still name them. */
  readonly #ended = new Set<string>();
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

  /** The handler of a job has ended, or the worker has posted its result. */
  ended(jobId: string): void {
    this.#since.delete(jobId);
    if (!this.#mayFind) return;
    this.#ended.add(jobId);
    if (this.#ended.size > ENDED_MAX) this.#findNoMore();
  }

  /** The container is gone. */
  clear(): void {
    this.#since.clear();
    this.#findNoMore();
    this.#areKnown = true;
  }

  #findNoMore(): void {
    this.#mayFind = false;
    this.#ended.clear();
  }

  /** A ping has named these jobs; `isKnown`: the job is one of this agent. */
  ping(jobIds: ReadonlySet<string>, isKnown: (jobId: string) => boolean): void {
    for (const jobId of this.#since.keys()) if (!jobIds.has(jobId)) this.#since.delete(jobId);
    for (const jobId of this.#ended) if (!jobIds.has(jobId)) this.#ended.delete(jobId);
    const isOwn = (jobId: string): boolean => isKnown(jobId) || this.#ended.has(jobId);
    for (const jobId of this.#mayFind ? jobIds : [])
      if (!isOwn(jobId) && !this.#since.has(jobId)) this.#since.set(jobId, performance.now());
    // Some workers' pings never name any.
    if (jobIds.size > 0 && [...jobIds].every((jobId) => isOwn(jobId) || this.#since.has(jobId)))
      this.#areKnown = true;
  }

  /** One of them has had its grace period. */
  hasOverdue(): boolean {
    return [...this.#since.values()].some((since) => ageMs(since) >= this.#graceMs);
  }
}
