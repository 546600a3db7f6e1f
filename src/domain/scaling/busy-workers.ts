/** Workers that have jobs or requests, and how many; and workers that have become free. */
export class BusyWorkers {
  readonly #counts = new Map<string, number>();
  #total = 0;
  #freed: string[] = [];

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Jobs or requests of all workers. */
  get total(): number {
    return this.#total;
  }

  /** A worker gets a job or a request. */
  add(workerId: string): void {
    this.#total += 1;
    this.#counts.set(workerId, (this.#counts.get(workerId) ?? 0) + 1);
  }

  /** One of those that a worker has is over. */
  remove(workerId: string): void {
    this.#total -= 1;
    const left = (this.#counts.get(workerId) ?? 0) - 1;
    if (left > 0) return void this.#counts.set(workerId, left);
    this.#counts.delete(workerId);
    this.#freed.push(workerId);
  }

  /** Workers that have become free since the previous call; some may be busy again. */
  takeFreed(): readonly string[] {
    if (this.#freed.length === 0) return NONE;
    const freed = this.#freed;
    this.#freed = [];
    return freed;
  }
}

const NONE: readonly string[] = [];
