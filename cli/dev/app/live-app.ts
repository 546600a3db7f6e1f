/** The app as its files are now: read again when one changes. */
import type { LivePeer } from "../../../src/contract/flash/flash-live.ts";
import type { ServedApp, ServedEndpoint } from "../../server/requests/served-app.ts";

export type LiveEndpoint = ServedEndpoint & {
  /** What a worker is told to run. */
  readonly code: LivePeer;
  /** Names of other endpoints that the code refers to itself. */
  readonly peers: readonly string[];
  /** Where it is declared. */
  readonly filePath: string;
  readonly line: number;
};

/** What was different after a change of files, by endpoint name. */
export type AppChange = {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Its code is another: the next call runs that. */
  readonly changed: readonly string[];
  /** Its resources are others: its live endpoint must be updated. */
  readonly reconfigured: readonly string[];
  /** What cannot be read, as `file:line: message`; and what is of no file. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
};

export interface LiveApp extends ServedApp {
  /** Waits while files are being read; an endpoint whose file cannot be read stays, with its `problem`. */
  endpoints(): Promise<readonly LiveEndpoint[]>;
  /** Text of a file that is named in `code.modules`, by its SHA-256; that of the latest reading and the one before. */
  source(sha256: string): string | undefined;
  onChange(listen: (change: AppChange) => void): void;
  /** Ends the watcher and the Python process. */
  close(): Promise<void>;
}
