/**
 * The order in which calls are shown. Output of workers arrives separately, a moment after the response. The lines of a
 * call that begins in between are buffered until then, so that the lines of each call stay together.
 *
 * O1  Only the display waits.
 * O2  A call waits only for calls that had ended when it began; concurrent calls are shown as they arrive.
 * O3  Nothing is buffered once the command ends.
 */
export class DisplayOrder {
  readonly #signal: AbortSignal;
  /** Calls whose output is not complete, in the order in which they began. */
  readonly #calls = new Set<DisplayedCall>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#calls.forEach((call) => call.flush()), { once: true });
  }

  /** Begins a call. */
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

/** The output of one call. */
export class DisplayedCall {
  readonly #predecessors: Set<DisplayedCall>;
  readonly #onFinished: () => void;
  #buffered: (() => void)[] = [];
  #awaitedLogs = 0;
  #isOver = false;

  /** `onFinished` is called when the call has ended and all of its output, including the log, has been shown. */
  constructor(predecessors: readonly DisplayedCall[], onFinished: () => void) {
    this.#predecessors = new Set(predecessors);
    this.#onFinished = onFinished;
  }

  /** The call has ended, although output may be missing. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Shows something now or in its turn. */
  show(act: () => void): void {
    if (this.#predecessors.size === 0) act();
    else this.#buffered.push(act);
  }

  /** Announces that log lines will follow; call the result when they have been shown or took too long. */
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

  /** Shows what is buffered and stops buffering. */
  flush(): void {
    this.#predecessors.clear();
    for (const act of this.#buffered.splice(0)) act();
    this.#settle();
  }

  #settle(): void {
    if (this.#isOver && this.#awaitedLogs === 0 && this.#predecessors.size === 0) this.#onFinished();
  }
}
