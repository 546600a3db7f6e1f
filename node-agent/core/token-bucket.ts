/** Limits a rate: so much per second in the long term, and a burst at once. Times are in ms. */
export class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #countedAt: number;

  constructor(limits: { readonly perSecond: number; readonly burst: number }, now: number) {
    this.#perMs = limits.perSecond / 1_000;
    this.#burst = limits.burst;
    this.#tokens = limits.burst;
    this.#countedAt = now;
  }

  take(tokens: number, now: number): boolean {
    this.#fill(now);
    if (this.#tokens < tokens) return false;
    this.#tokens -= tokens;
    return true;
  }

  /** Time until so many will be there. */
  waitMs(tokens: number, now: number): number {
    this.#fill(now);
    return Math.max(0, (tokens - this.#tokens) / this.#perMs);
  }

  #fill(now: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, now - this.#countedAt) * this.#perMs);
    this.#countedAt = now;
  }
}
