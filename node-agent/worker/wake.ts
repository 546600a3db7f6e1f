/** Lets loops sleep until something has changed. Everyone who waits is woken. */
export class Wake {
  #waiting = new Set<() => void>();

  wake(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const resume of waiting) resume();
  }

  wakeOnAbort(signal: AbortSignal): void {
    signal.addEventListener("abort", () => this.wake(), { once: true });
  }

  /** Resolves at the next change, or after the time when one is given. */
  wait(forMs: number | null): Promise<void> {
    return new Promise((resolve) => {
      const timer = forMs === null ? undefined : setTimeout(() => resume(), forMs);
      const resume = () => {
        clearTimeout(timer);
        this.#waiting.delete(resume);
        resolve();
      };
      this.#waiting.add(resume);
    });
  }

  /** Resolves after the time, or as soon as a change makes `isOver` true. */
  async pause(forMs: number, isOver: () => boolean): Promise<void> {
    const until = Date.now() + forMs;
    while (!isOver() && Date.now() < until) await this.wait(until - Date.now());
  }
}
