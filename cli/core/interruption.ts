import { EXIT_FAILURE, EXIT_INTERRUPTED, Failure } from "./failure.ts";

/** The person has pressed Ctrl+C, or the system wants the command to end. */
export class Interruption extends Failure {
  constructor(exitCode = EXIT_INTERRUPTED) {
    super("Cancelled.", [], exitCode);
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const SAME_SIGNAL_MS = 300;

/**
 * What ends a command before its time.
 *
 * I1  The first signal aborts, and the command tidies up. The second one ends the process at once, after `onHurry` has
 *     told what is left.
 * I2  What comes right after the first one is no second one: the terminal and a program between it and us may both hand
 *     on one Ctrl+C, and a window that is closed sends SIGHUP twice, from the system and from the shell.
 * I3  An output that nobody reads any more ends the command like a signal where there is something to tidy up, else
 *     quietly; whoever reads has read enough, such as `| head`.
 * I4  A fault that nothing has caught ends the command like a signal, too, where there is something to tidy up.
 */
export class Interruptions {
  readonly #controller = new AbortController();
  readonly #left: (() => readonly string[])[] = [];
  #abortedAt = 0;
  #hasUncaughtError = false;

  /** `onHurry` is told lines that say what is left undone; `onFault` the first fault of I4. */
  constructor(onForceQuit: (left: readonly string[]) => void, onUncaughtError: (error: unknown) => void) {
    for (const name of SIGNALS) {
      process.on(name, () => {
        if (!this.signal.aborted) return this.#abort();
        if (performance.now() - this.#abortedAt < SAME_SIGNAL_MS) return;
        onForceQuit(this.#left.flatMap((describeLeft) => describeLeft()));
        process.exit(EXIT_INTERRUPTED);
      });
    }
    process.on("uncaughtException", (error) => {
      const isFirst = !this.#hasUncaughtError;
      this.#hasUncaughtError = true;
      if (isFirst) onUncaughtError(error);
      if (this.#left.length === 0) process.exit(EXIT_FAILURE);
      if (!this.signal.aborted) this.#abort(EXIT_FAILURE);
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on there is something to tidy up; `tell` says what of it is left, when there is no time for it. */
  readonly addForceQuitMessage = (describeLeft: () => readonly string[]): void => {
    this.#left.push(describeLeft);
  };

  /** An error of standard output or standard error. Throws one that is none of a reader who has gone. */
  readonly onOutputError = (error: NodeJS.ErrnoException): void => {
    if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    if (this.signal.aborted) return;
    if (error.code === "EPIPE" && this.#left.length === 0) process.exit(0);
    this.#abort();
  };

  #abort(exitCode?: number): void {
    this.#abortedAt = performance.now();
    this.#controller.abort(new Interruption(exitCode));
  }
}
