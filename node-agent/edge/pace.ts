import type { Timing } from "../timing.ts";
import { retryDelayMs } from "./retry-delay.ts";

/** Counts what goes wrong in a row, and says when the next call may be made. */
export class Pace {
  readonly #policy: { readonly baseMs: number; readonly capMs: number };
  readonly #random: () => number;
  #failures = 0;
  #restsUntil = 0;

  constructor(timing: Timing, random: () => number) {
    this.#policy = { baseMs: timing.edgeRetryBaseMs, capMs: timing.edgeRetryCapMs };
    this.#random = random;
  }

  /** Calls that fail together count once. */
  slowDown(): void {
    if (this.restMs() > 0) return;
    this.#failures += 1;
    this.#restsUntil = Date.now() + retryDelayMs(this.#failures, this.#policy, this.#random());
  }

  recover(): void {
    this.#failures = 0;
  }

  restMs(): number {
    return Math.max(0, this.#restsUntil - Date.now());
  }
}
