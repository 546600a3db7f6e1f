/** Runs tasks of the same name one by one, and those of different names concurrently. */
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

  /** Names with running tasks. */
  names(): readonly string[] {
    return [...this.#last.keys()];
  }

  /** Resolves when no task is running. */
  async settled(): Promise<void> {
    while (this.#last.size > 0) await Promise.allSettled(this.#last.values());
  }
}
