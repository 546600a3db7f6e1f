/** How many calls an object gets in a second, over whole windows of ten seconds. */
const WINDOW_MS = 10_000;

export class CallRate {
  #windowFrom = 0;
  #count = 0;
  #perSecond = 0;

  count(now: number): void {
    this.#follow(now);
    this.#count += 1;
  }

  /** Of the last window that is over. */
  perSecond(now: number): number {
    this.#follow(now);
    return this.#perSecond;
  }

  /** When the present window began. */
  windowFrom(now: number): number {
    this.#follow(now);
    return this.#windowFrom;
  }

  #follow(now: number): void {
    if (now - this.#windowFrom < WINDOW_MS) return;
    const isNext = now - this.#windowFrom < 2 * WINDOW_MS;
    this.#perSecond = isNext ? this.#count / (WINDOW_MS / 1_000) : 0;
    this.#windowFrom = isNext ? this.#windowFrom + WINDOW_MS : now;
    this.#count = 0;
  }
}
