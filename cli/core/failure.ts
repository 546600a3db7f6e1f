export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;
export const EXIT_INTERRUPTED = 130;

/** An error that the user can do something about. Anything else that is thrown is shown as a bug of `flash`. */
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
}
