/** Looks at the links while something would be lost with them; else no timer runs, so that the object may hibernate. */
import { LINK_BEAT_MS } from "../../contract/limits.ts";

export class LinkWatch {
  readonly #isNeeded: () => boolean;
  readonly #look: () => void;
  #isRunning = false;

  constructor(isNeeded: () => boolean, look: () => void) {
    this.#isNeeded = isNeeded;
    this.#look = look;
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    setTimeout(() => this.#tick(), LINK_BEAT_MS);
  }

  #tick(): void {
    this.#isRunning = false;
    this.#look();
    if (this.#isNeeded()) this.start();
  }
}
