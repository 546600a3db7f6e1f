/** Lets work on the same key run one at a time, in the order in which it was asked for. */
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

  /** Resolves when the turns asked for until now are over, however they ended. */
  async settled(key: string): Promise<void> {
    await this.#lastByKey.get(key)?.catch(() => undefined);
  }
}
