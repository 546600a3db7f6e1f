/** How many requests go straight to workers, in memory: which of them each worker has, and how many wait for one. */
export class DirectBook {
  readonly #inFlight = new Map<string, number>();
  #running = 0;
  #freed: string[] = [];
  #waiting = 0;

  /** Workers that have requests, and how many. */
  get busy(): ReadonlyMap<string, number> {
    return this.#inFlight;
  }

  get running(): number {
    return this.#running;
  }

  /** Requests that no worker has. */
  get waiting(): number {
    return this.#waiting;
  }

  set waiting(count: number) {
    this.#waiting = count;
  }

  /** Workers whose last request has ended since this was asked before; some may have a new one. */
  takeFreed(): readonly string[] {
    const freed = this.#freed;
    this.#freed = [];
    return freed;
  }

  began(workerId: string): void {
    this.#running += 1;
    this.#inFlight.set(workerId, (this.#inFlight.get(workerId) ?? 0) + 1);
  }

  ended(workerId: string): void {
    const left = (this.#inFlight.get(workerId) ?? 0) - 1;
    this.#running -= 1;
    if (left > 0) {
      this.#inFlight.set(workerId, left);
      return;
    }
    this.#inFlight.delete(workerId);
    this.#freed.push(workerId);
  }
}
