export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;
export const EXIT_INTERRUPTED = 130;

/** What a person can do something about. Anything else that is thrown is a bug of ours, and is shown as one. */
export class Failure extends Error {
  override readonly name = "Failure";
  /** What to do, as lines of their own. */
  readonly advice: readonly string[];
  readonly exitCode: number;

  constructor(message: string, advice: readonly string[] = [], exitCode = EXIT_FAILURE) {
    super(message);
    this.advice = advice;
    this.exitCode = exitCode;
  }
}
