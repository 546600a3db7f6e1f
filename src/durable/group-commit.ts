/**
 * Group commit. Work that arrives while a commit is on its way to disk waits for it and is then done
 * together, in one turn and one commit. A caller without others does not wait.
 *
 * Callers may answer as soon as their work is done: the output gate holds every answer until its commit
 * is durable.
 *
 * Work that throws is a bug. Its rows are rolled back, but memory may be half changed, so the object is reset
 * and starts again from its rows.
 */
export class GroupCommit {
  readonly #context: DurableObjectState;
  readonly #afterWork: () => void;
  #waiting: (() => void)[] = [];
  #isCommitting = false;

  /** `afterWork` runs once per turn, after all its work and before the commit. */
  constructor(context: DurableObjectState, afterWork: () => void) {
    this.#context = context;
    this.#afterWork = afterWork;
  }

  /** Runs `work` in the next turn. It must be synchronous; what it throws, the caller gets. */
  run<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(this.#context.storage.transactionSync(work));
        } catch (error) {
          reject(error);
          throw error;
        }
      });
      if (!this.#isCommitting) void this.#commitAll();
    });
  }

  async #commitAll(): Promise<void> {
    this.#isCommitting = true;
    try {
      while (this.#waiting.length > 0) {
        const turn = this.#waiting;
        this.#waiting = [];
        for (const work of turn) work();
        this.#afterWork();
        await this.#context.storage.sync();
      }
      this.#isCommitting = false;
    } catch (error) {
      this.#context.abort(error instanceof Error ? error.message : "Work failed.");
    }
  }
}
