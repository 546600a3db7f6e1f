/** What a user is told of an error that is a bug of this program. */
import { EDGERUN_VERSION } from "../../src/contract/version.ts";
import { errorMessage } from "../../src/std/errors.ts";

export type CrashReport = { readonly line: string; readonly advice: readonly string[] };

/** `name`: that of the program, as the user has typed it. */
export function crashReport(
  name: string,
  error: unknown,
  { isDebug }: { readonly isDebug: boolean },
): CrashReport {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  return {
    line: `${name} crashed (internal error): ${errorMessage(error)}`,
    advice: [
      isDebug ? stack : "Run it again with FLASH_DEBUG=1 for the stack trace.",
      `Please report it where you got Edgerun, with the command and the version (${name} ${EDGERUN_VERSION}).`,
    ],
  };
}
