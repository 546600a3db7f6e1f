import type { ServiceWarnings } from "./service-warnings.ts";
import type { Terminal } from "./terminal.ts";

/** What every command receives: where it was started, and its terminal. */
export type Cli = {
  /** The project: the directory where the command was started. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly terminal: Terminal;
  /** Aborts on Ctrl+C and SIGTERM: the command cleans up and ends. */
  readonly signal: AbortSignal;
  /** `--insecure`: allows a URL without https that is not on this computer. */
  readonly isInsecure?: boolean;
  /** Redacts this string from everything that is shown or logged from now on. */
  readonly hide?: (secret: string) => void;
  /** Warnings of the service. */
  readonly warnings?: ServiceWarnings;
  /**
   * Declares that the command has something to clean up when it ends. A second Ctrl+C ends the process at once, after
   * printing the lines of `describeLeft`.
   */
  readonly onForceQuit?: (describeLeft: () => readonly string[]) => void;
};
