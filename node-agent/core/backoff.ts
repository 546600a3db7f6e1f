import { retryDelayMs } from "../../src/std/waiting.ts";
import type { Timing } from "./timing.ts";

/** Counts failures in a row, and decides when the next call may be made. */
export class Backoff {
  readonly #policy: { readonly baseMs: number; readonly capMs: number };
  readonly #random: () => number;
  #failures = 0;
  #restsUntil = 0;

  constructor(timing: Timing, random: () => number) {
    this.#policy = { baseMs: timing.edgeRetryBaseMs, capMs: timing.edgeRetryCapMs };
    this.#random = random;
  }

  /** Calls that fail together count once. */
  increase(): void {
    if (this.remainingMs() > 0) return;
    this.#failures += 1;
    this.#restsUntil = performance.now() + retryDelayMs(this.#failures, this.#policy, this.#random());
  }

  reset(): void {
    this.#failures = 0;
  }

  /** What failed before says nothing any more: the next call may be made at once. */
  restart(): void {
    this.reset();
    this.#restsUntil = 0;
  }

  remainingMs(): number {
    return Math.max(0, this.#restsUntil - performance.now());
  }
}
