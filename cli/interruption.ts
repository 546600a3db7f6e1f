import { EXIT_INTERRUPTED, Failure } from "./failure.ts";

/** The person has pressed Ctrl+C, or the system wants the command to end. */
export class Interruption extends Failure {
  constructor() {
    super("Cancelled.", [], EXIT_INTERRUPTED);
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
 */
export class Interruptions {
  readonly #controller = new AbortController();
  readonly #left: (() => readonly string[])[] = [];
  #abortedAt = 0;

  /** `onHurry` is told lines that say what is left undone. */
  constructor(onHurry: (left: readonly string[]) => void) {
    for (const name of SIGNALS) {
      process.on(name, () => {
        if (!this.signal.aborted) return this.#abort();
        if (performance.now() - this.#abortedAt < SAME_SIGNAL_MS) return;
        onHurry(this.#left.flatMap((tell) => tell()));
        process.exit(EXIT_INTERRUPTED);
      });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on there is something to tidy up; `tell` says what of it is left, when there is no time for it. */
  readonly expect = (tell: () => readonly string[]): void => {
    this.#left.push(tell);
  };

  /** An error of standard output or standard error. Throws one that is none of a reader who has gone. */
  readonly onOutputError = (error: NodeJS.ErrnoException): void => {
    if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    if (this.signal.aborted) return;
    if (error.code === "EPIPE" && this.#left.length === 0) process.exit(0);
    this.#abort();
  };

  #abort(): void {
    this.#abortedAt = performance.now();
    this.#controller.abort(new Interruption());
  }
}
