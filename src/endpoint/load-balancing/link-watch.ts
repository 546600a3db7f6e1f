import { LINK_BEAT_MS } from "../../link/link-messages.ts";

/** Looks at the links while something would be lost with them; else no timer runs, so that the object may hibernate. */

export class LinkWatch {
  readonly #isNeeded: () => boolean;
  readonly #check: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(isNeeded: () => boolean, check: () => void) {
    this.#isNeeded = isNeeded;
    this.#check = check;
  }

  start(): void {
    this.#timer ??= setTimeout(() => this.#tick(), LINK_BEAT_MS);
  }

  /** Something is over: ends the timer at once when nothing is left. */
  rest(): void {
    if (this.#timer === undefined || this.#isNeeded()) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    this.#timer = undefined;
    this.#check();
    if (this.#isNeeded()) this.start();
  }
}
