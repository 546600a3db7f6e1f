/** How long a call may wait inside a busy object before it moves to a wake-up channel. */
export const IN_OBJECT_WAIT_MS = 250;

/** Calls that wait in memory for a short while because the object is hot anyway. */
export class Waiters<Key, Value> {
  readonly #byKey = new Map<Key, Set<(value: Value | undefined) => void>>();

  /** Resolves with the value that `wake` brings, or undefined when `holdMs` are over. */
  wait(key: Key, holdMs: number): Promise<Value | undefined> {
    return new Promise((resolve) => {
      const waiting = this.#byKey.get(key) ?? new Set();
      this.#byKey.set(key, waiting);
      const end = (value: Value | undefined) => {
        clearTimeout(timer);
        waiting.delete(end);
        if (waiting.size === 0 && this.#byKey.get(key) === waiting) this.#byKey.delete(key);
        resolve(value);
      };
      const timer = setTimeout(end, holdMs, undefined);
      waiting.add(end);
    });
  }

  wake(key: Key, value: Value): void {
    for (const end of this.#byKey.get(key) ?? []) end(value);
  }

  wakeAll(value: Value): void {
    for (const key of [...this.#byKey.keys()]) this.wake(key, value);
  }
}
