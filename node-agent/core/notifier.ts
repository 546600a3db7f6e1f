/** Suspends loops until something has changed, then wakes all of them. */
export class Notifier {
  #waiters = new Set<() => void>();

  notify(): void {
    const waiting = this.#waiters;
    this.#waiters = new Set();
    for (const resume of waiting) resume();
  }

  notifyOnAbort(signal: AbortSignal): void {
    signal.addEventListener("abort", () => this.notify(), { once: true });
  }

  /** Resolves at the next change, or after the time when one is given. */
  wait(forMs: number | null): Promise<void> {
    return new Promise((resolve) => {
      const timer = forMs === null ? undefined : setTimeout(() => resume(), forMs);
      const resume = () => {
        clearTimeout(timer);
        this.#waiters.delete(resume);
        resolve();
      };
      this.#waiters.add(resume);
    });
  }

  /** Resolves after the time, or as soon as a change makes `isOver` true. */
  async waitUntil(forMs: number, isOver: () => boolean): Promise<void> {
    const until = performance.now() + forMs;
    while (!isOver() && performance.now() < until) await this.wait(until - performance.now());
  }
}
