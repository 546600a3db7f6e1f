import type { ServiceWarnings } from "./service-warnings.ts";
import type { Terminal } from "./terminal.ts";

/** What every command is given: where it was started, and how it speaks to its person. */
export type Cli = {
  /** The project: where the command was started. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly terminal: Terminal;
  /** Ctrl+C or SIGTERM: end soon, tidy up, change nothing more. */
  readonly signal: AbortSignal;
  /** `--insecure`: an address without https is used although it is not of this computer. */
  readonly isInsecure?: boolean;
  /** From now on this text is shown to nobody and written to no log. */
  readonly hide?: (secret: string) => void;
  /** What the service warns of. */
  readonly warnings?: ServiceWarnings;
  /**
   * From now on the command has something to tidy up at its end. A second Ctrl+C ends the process at once, with the lines
   * that `tell` says then of what is left.
   */
  readonly onForceQuit?: (describeLeft: () => readonly string[]) => void;
};
