/**
 * Group commit. Work that arrives while a commit is on its way to disk waits for it and is then done
 * together, in one turn and one commit. A lone caller waits for nobody.
 *
 * Callers may answer as soon as their work is done: the output gate holds every answer until its commit
 * is durable.
 */
export class GroupCommit {
  readonly #storage: DurableObjectStorage;
  readonly #afterWork: () => void;
  #waiting: (() => void)[] = [];
  #isCommitting = false;

  /** `afterWork` runs once per turn, after all its work and before the commit. */
  constructor(storage: DurableObjectStorage, afterWork: () => void) {
    this.#storage = storage;
    this.#afterWork = afterWork;
  }

  /** Runs `work` in the next turn. It must be synchronous; what it throws, the caller gets. */
  run<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
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
        await this.#storage.sync();
      }
    } finally {
      this.#isCommitting = false;
    }
  }
}
