/** How the programs on a user's computer and on a host end: the exit codes, and the error that carries one. */
export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;
/** As of shells: there is such a command or not, and it cannot be run. */
export const EXIT_CANNOT_RUN = 126;
/** A restart would not help: the supervisor of the agent must not restart it. */
export const EXIT_FATAL = 78;
export const EXIT_INTERRUPTED = 130;

/** An error that the user can do something about. Anything else that is thrown is shown as a bug of the program. */
export class Failure extends Error {
  override readonly name = "Failure";
  /** How to solve it, one line each. */
  readonly advice: readonly string[];
  readonly exitCode: number;

  constructor(message: string, advice: readonly string[] = [], exitCode = EXIT_FAILURE) {
    super(message);
    this.advice = advice;
    this.exitCode = exitCode;
  }

  /** The message, and the advice below it. */
  get text(): string {
    return [this.message, ...this.advice.map((line) => `  ${line}`)].join("\n");
  }
}
