/**
 * The order in which calls are shown. What a worker has printed comes by a way of its own, a moment after the answer; what
 * is to be shown of a call that begins in between is held until then, so that the lines of each call stand together.
 *
 * O1  Nothing but the display waits.
 * O2  A call is held only for calls that were over when it began: those that run side by side are shown as they come.
 * O3  Once the command is being ended nothing is held.
 */
export class DisplayOrder {
  readonly #signal: AbortSignal;
  /** Calls of which something is still to be shown, in the order in which they began. */
  readonly #calls = new Set<DisplayedCall>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#calls.forEach((call) => call.flush()), { once: true });
  }

  /** A call begins. */
  begin(): DisplayedCall {
    const predecessors = [...this.#calls].filter((call) => call.isOver && !this.#signal.aborted);
    const call = new DisplayedCall(predecessors, () => this.#finish(call));
    this.#calls.add(call);
    return call;
  }

  #finish(call: DisplayedCall): void {
    this.#calls.delete(call);
    for (const other of [...this.#calls]) other.removePredecessor(call);
  }
}

/** What is shown of one call. */
export class DisplayedCall {
  readonly #predecessors: Set<DisplayedCall>;
  readonly #onFinished: () => void;
  #buffered: (() => void)[] = [];
  #awaitedLogs = 0;
  #isOver = false;

  /** `onShown`: told once the call is over and all of it, its log too, has been shown. */
  constructor(predecessors: readonly DisplayedCall[], onFinished: () => void) {
    this.#predecessors = new Set(predecessors);
    this.#onFinished = onFinished;
  }

  /** The call has ended, whatever of it is still to be shown. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Shows something now, or when it is its turn. */
  show(act: () => void): void {
    if (this.#predecessors.size === 0) act();
    else this.#buffered.push(act);
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

  removePredecessor(call: DisplayedCall): void {
    if (this.#predecessors.delete(call) && this.#predecessors.size === 0) this.flush();
  }

  /** Shows what is held; nothing is from now on. */
  flush(): void {
    this.#predecessors.clear();
    for (const act of this.#buffered.splice(0)) act();
    this.#settle();
  }

  #settle(): void {
    if (this.#isOver && this.#awaitedLogs === 0 && this.#predecessors.size === 0) this.#onFinished();
  }
}
