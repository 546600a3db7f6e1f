/** One thing after the other under each name; things of different names go side by side. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<Result>(name: string, act: () => Promise<Result>): Promise<Result> {
    const task = (this.#last.get(name) ?? Promise.resolve()).then(act, act);
    this.#last.set(name, task);
    try {
      return await task;
    } finally {
      if (this.#last.get(name) === task) this.#last.delete(name);
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
