/** Runs one action soon, at the earliest of all requested times. */
export class Schedule {
  readonly #act: () => void;
  #timer: NodeJS.Timeout | null = null;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(act: () => void) {
    this.#act = act;
  }

  within(delayMs: number): void {
    const dueAt = performance.now() + delayMs;
    if (dueAt >= this.#dueAt) return;
    this.cancel();
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.cancel();
      this.#act();
    }, delayMs);
  }

  cancel(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#dueAt = Number.POSITIVE_INFINITY;
  }
}
