/**
 * Credit of one direction of a stream. The receiver's window begins small, and grows while its reader keeps up and
 * the budget that all streams share has room, so that one fast transfer over a long way is not slowed by many idle ones.
 */

/** Unread bytes in one direction of a stream: to begin with, and at most. */
export const LINK_WINDOW_BYTES = 64 * 1024;
export const LINK_WINDOW_MAX_BYTES = 1_000_000;
/** Bytes by which the windows of all streams of an object, or of an agent, may grow together. */
export const LINK_WINDOWS_BUDGET_BYTES = 24_000_000;

/** Bytes that windows may have grown by, all together. */
export class WindowBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Up to so many bytes. */
  take(bytes: number): number {
    const taken = Math.min(bytes, this.#left);
    this.#left -= taken;
    return taken;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
  }
}

export class ReceiveWindow {
  readonly #budget: WindowBudget;
  /** What the sender may have outstanding at most. */
  #size = LINK_WINDOW_BYTES;
  /** What it may still send. */
  #open = LINK_WINDOW_BYTES;
  /** Received and not consumed. */
  #unconsumed = 0;
  #isClosed = false;

  constructor(budget: WindowBudget) {
    this.#budget = budget;
  }

  /** Bytes came in. False when the sender had no credit for them. */
  received(bytes: number): boolean {
    this.#open -= bytes;
    this.#unconsumed += bytes;
    return this.#open >= 0;
  }

  /** The reader took so many bytes. Returns the credit to give now; 0 while it is not worth a frame, or closed. */
  consumed(bytes: number): number {
    this.#unconsumed -= bytes;
    if (this.#isClosed) return 0;
    const owed = this.#size - this.#open - this.#unconsumed;
    if (owed < this.#size / 2) return 0;
    const grown = this.#grow();
    this.#open += owed + grown;
    return owed + grown;
  }

  /** The stream is over, though its reader may still take what came. */
  close(): void {
    this.#isClosed = true;
    this.#budget.giveBack(this.#size - LINK_WINDOW_BYTES);
    this.#size = LINK_WINDOW_BYTES;
  }

  /** A sender that has used up more than half of its window before the credit came may need a larger one. */
  #grow(): number {
    if (this.#open > this.#size / 2 || this.#size >= LINK_WINDOW_MAX_BYTES) return 0;
    const grown = this.#budget.take(Math.min(this.#size, LINK_WINDOW_MAX_BYTES - this.#size));
    this.#size += grown;
    return grown;
  }
}

export class SendWindow {
  #open = LINK_WINDOW_BYTES;
  #isClosed = false;
  #waiting: (() => void)[] = [];

  /** Bytes that may be sent now. */
  get open(): number {
    return this.#open;
  }

  sent(bytes: number): void {
    this.#open -= bytes;
  }

  credited(bytes: number): void {
    this.#open += bytes;
    if (this.#open > 0) this.#wake();
  }

  /** Resolves when something may be sent, or at `release`. */
  async untilOpen(): Promise<void> {
    if (this.#open > 0 || this.#isClosed) return;
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** The stream is over: releases present and future waiters. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
