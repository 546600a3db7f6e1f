/** How many jobs each worker takes at once, as its agent's offers show. */
export class WorkerConcurrency {
  readonly #jobsOf = new Map<string, number>();
  #max = 1;

  /** What was known before a loss of memory. */
  recover(jobsPerWorker: number): void {
    this.#max = jobsPerWorker;
  }

  record(workerId: string, jobs: number): void {
    if (this.#jobsOf.get(workerId) === jobs) return;
    this.#jobsOf.set(workerId, jobs);
    this.#max = Math.max(...this.#jobsOf.values());
  }

  /** Forgets workers that are gone; what the last of them took is what the next is expected to take. */
  keepOnly(workerIds: ReadonlySet<string>): void {
    const gone = [...this.#jobsOf.keys()].filter((workerId) => !workerIds.has(workerId));
    for (const workerId of gone) this.#jobsOf.delete(workerId);
    if (this.#jobsOf.size > 0) this.#max = Math.max(...this.#jobsOf.values());
  }

  /** The most that one of the workers takes; a new worker often begins with fewer. */
  get jobsPerWorker(): number {
    return this.#max;
  }
}
