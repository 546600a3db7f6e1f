/** Lets work on the same key run one at a time, in the order in which it was asked for. */
export class Turns {
  readonly #lastByKey = new Map<string, Promise<unknown>>();

  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const previous = this.#lastByKey.get(key) ?? Promise.resolve();
    const turn = previous.then(work, work);
    this.#lastByKey.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#lastByKey.get(key) === turn) this.#lastByKey.delete(key);
    }
  }

  /** Resolves when the turns asked for until now are over, however they ended. */
  async passed(key: string): Promise<void> {
    await this.#lastByKey.get(key)?.catch(() => undefined);
  }
}
