/** The app as declared by its current files. */
import type { LivePeer } from "../../../src/contract/flash/flash-live.ts";
import type { ServedApp, ServedEndpoint } from "../../server/requests/served-app.ts";

export type LiveEndpoint = ServedEndpoint & {
  /** The code that workers run. */
  readonly code: LivePeer;
  /** Names of other endpoints that the code refers to directly. */
  readonly peers: readonly string[];
  /** Where it is declared. */
  readonly filePath: string;
  readonly line: number;
};

/** Names of endpoints that a change of files affected. */
export type AppChange = {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** The next call runs their new code. */
  readonly changed: readonly string[];
  /** Their live endpoints must be updated. */
  readonly reconfigured: readonly string[];
  /** Errors, as `file:line: message` where they concern a file. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
};

export interface LiveApp extends ServedApp {
  /** Waits while files are being read; an endpoint whose file cannot be read stays, with a `problem`. */
  endpoints(): Promise<readonly LiveEndpoint[]>;
  /** Content of a file of `code.modules` by its SHA-256, from the latest reading and the one before. */
  source(sha256: string): string | undefined;
  onChange(listen: (change: AppChange) => void): void;
  /** Ends the watcher and the Python process. */
  close(): Promise<void>;
}
