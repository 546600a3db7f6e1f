/** What every program does with errors. */

/** The message of whatever was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Handler of a promise whose failure is ignored on purpose, because nothing depends on it: `.catch(ignoreFailure)`. */
export function ignoreFailure(): void {}

/** The `code` of an error of the system or of a library, such as ENOENT; undefined where it has none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
