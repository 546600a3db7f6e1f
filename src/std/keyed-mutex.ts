/** Runs work of the same key one at a time, in the order of the calls, and work of different keys concurrently. */
export class KeyedMutex {
  readonly #lastByKey = new Map<string, Promise<unknown>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const previous = this.#lastByKey.get(key) ?? Promise.resolve();
    const result = previous.then(work, work);
    this.#lastByKey.set(key, result);
    try {
      return await result;
    } finally {
      if (this.#lastByKey.get(key) === result) this.#lastByKey.delete(key);
    }
  }

  /** Keys with running or waiting work. */
  keys(): readonly string[] {
    return [...this.#lastByKey.keys()];
  }

  /** Resolves when the work that was requested for the key until now has ended, in whatever way. */
  async settled(key: string): Promise<void> {
    await this.#lastByKey.get(key)?.catch(() => undefined);
  }

  /** Resolves when there is no more work for any key. */
  async allSettled(): Promise<void> {
    while (this.#lastByKey.size > 0) await Promise.allSettled(this.#lastByKey.values());
  }
}
