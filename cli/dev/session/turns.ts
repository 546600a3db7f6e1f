/** One thing after the other under each name; things of different names go side by side. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async take<Result>(name: string, act: () => Promise<Result>): Promise<Result> {
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(act, act);
    this.#last.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name);
    }
  }

  /** Names under which something goes on. */
  names(): readonly string[] {
    return [...this.#last.keys()];
  }

  /** When nothing goes on under any of them. */
  async settled(): Promise<void> {
    while (this.#last.size > 0) await Promise.allSettled(this.#last.values());
  }
}
