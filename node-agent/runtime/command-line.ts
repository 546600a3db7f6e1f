import { split } from "shlex";

/** Splits start arguments into words as a POSIX shell would; nothing is expanded or run by a shell. */
export function splitCommandLine(dockerArgs: string): string[] {
  try {
    return split(dockerArgs);
  } catch {
    throw new Error(
      `The start arguments can not be split into words: ${dockerArgs}. Check that every quote is closed.`,
    );
  }
}
