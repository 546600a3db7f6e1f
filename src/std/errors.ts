/** What every program does with errors. */

/** The message of whatever was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Handler of a promise whose failure is ignored on purpose, because nothing depends on it: `.catch(ignoreFailure)`. */
export function ignoreFailure(): void {}
