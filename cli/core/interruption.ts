import { EXIT_FAILURE, EXIT_INTERRUPTED, Failure } from "../../src/std/failure.ts";

/** Ctrl+C, or a signal of the system that ends the command. */
export class Interruption extends Failure {
  readonly signal: EndingSignal;

  constructor(exitCode = EXIT_INTERRUPTED, signal: EndingSignal = "SIGTERM") {
    super("Cancelled.", [], exitCode);
    this.signal = signal;
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
type EndingSignal = (typeof SIGNALS)[number];
const SAME_SIGNAL_MS = 300;

/**
 * What ends a command early.
 *
 * I1  The first signal aborts, and the command cleans up. The second one ends the process at once, after
 *     `onForceQuit` has printed what is left.
 * I2  A signal within 300 ms of the first one does not count as the second: the terminal and a program in between may
 *     both deliver one Ctrl+C, and closing a window sends SIGHUP twice, from the system and from the shell.
 * I3  A closed output, as by `| head`, ends the command like a signal where there is something to clean up, else
 *     quietly.
 * I4  An uncaught error ends the command like a signal where there is something to clean up.
 */
export class Interruptions {
  readonly #controller = new AbortController();
  readonly #left: (() => readonly string[])[] = [];
  #abortedAt = 0;
  #hasUncaughtError = false;

  /** `onForceQuit` receives lines that list what remains; `onUncaughtError` the first error of I4. */
  constructor(onForceQuit: (left: readonly string[]) => void, onUncaughtError: (error: unknown) => void) {
    for (const name of SIGNALS) {
      process.on(name, () => {
        if (!this.signal.aborted) return this.#abort(EXIT_INTERRUPTED, name);
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

  /** Declares something to clean up; `describeLeft` lists what remains when there is no time to clean up. */
  readonly addForceQuitMessage = (describeLeft: () => readonly string[]): void => {
    this.#left.push(describeLeft);
  };

  /** Handles errors of standard output and standard error. Throws those other than a closed reader. */
  readonly onOutputError = (error: NodeJS.ErrnoException): void => {
    if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    if (this.signal.aborted) return;
    if (error.code === "EPIPE" && this.#left.length === 0) process.exit(0);
    this.#abort();
  };

  #abort(exitCode?: number, signal?: EndingSignal): void {
    this.#abortedAt = performance.now();
    this.#controller.abort(new Interruption(exitCode, signal));
  }
}
