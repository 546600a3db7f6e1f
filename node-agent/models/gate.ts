/** Lets a bounded number of pieces of work run at once, in the order of their calls. */
export class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }

  /**
   * Works on all items. After a failure no further one is begun, and the others are aborted; all have ended when it is
   * thrown.
   */
  async each<Item>(
    items: readonly Item[],
    signal: AbortSignal,
    work: (item: Item, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const failed = new AbortController();
    const ending = AbortSignal.any([signal, failed.signal]);
    const errors: unknown[] = [];
    const runs = items.map((item) =>
      this.run(async () => {
        ending.throwIfAborted();
        await work(item, ending);
      }).catch((error: unknown) => {
        errors.push(error);
        failed.abort(error);
      }),
    );
    await Promise.all(runs);
    if (errors.length > 0) throw errors[0];
  }
}
