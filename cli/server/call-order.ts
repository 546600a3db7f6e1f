/**
 * The order in which calls are shown. What a worker has printed comes by a way of its own, a moment after the answer; what
 * is to be shown of a call that begins in between is held until then, so that the lines of each call stand together.
 *
 * O1  Nothing but the display waits.
 * O2  A call is held only for calls that were over when it began: those that run side by side are shown as they come.
 * O3  Once the command is being ended nothing is held.
 */
export class CallOrder {
  readonly #signal: AbortSignal;
  /** Calls of which something is still to be shown, in the order in which they began. */
  readonly #turns = new Set<Turn>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#turns.forEach((turn) => turn.release()), { once: true });
  }

  /** A call begins. */
  begin(): Turn {
    const before = [...this.#turns].filter((turn) => turn.isOver && !this.#signal.aborted);
    const turn = new Turn(before, () => this.#shown(turn));
    this.#turns.add(turn);
    return turn;
  }

  #shown(turn: Turn): void {
    this.#turns.delete(turn);
    for (const other of [...this.#turns]) other.noLongerAfter(turn);
  }
}

/** What is shown of one call. */
export class Turn {
  readonly #before: Set<Turn>;
  readonly #onShown: () => void;
  #held: (() => void)[] = [];
  #awaitedLogs = 0;
  #isOver = false;

  /** `onShown`: told once the call is over and all of it, its log too, has been shown. */
  constructor(before: readonly Turn[], onShown: () => void) {
    this.#before = new Set(before);
    this.#onShown = onShown;
  }

  /** The call has ended, whatever of it is still to be shown. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Shows something now, or when it is its turn. */
  show(act: () => void): void {
    if (this.#before.size === 0) act();
    else this.#held.push(act);
  }

  /** Its log comes by a way of its own; the result is to be called when that has been shown, or has taken too long. */
  awaitLog(): () => void {
    this.#awaitedLogs += 1;
    let isAwaited = true;
    return () => {
      if (!isAwaited) return;
      isAwaited = false;
      this.#awaitedLogs -= 1;
      this.#settle();
    };
  }

  end(): void {
    this.#isOver = true;
    this.#settle();
  }

  noLongerAfter(turn: Turn): void {
    if (this.#before.delete(turn) && this.#before.size === 0) this.release();
  }

  /** Shows what is held; nothing is from now on. */
  release(): void {
    this.#before.clear();
    for (const act of this.#held.splice(0)) act();
    this.#settle();
  }

  #settle(): void {
    if (this.#isOver && this.#awaitedLogs === 0 && this.#before.size === 0) this.#onShown();
  }
}
