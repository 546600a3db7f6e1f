/** What the driver of plain HTTP is told to ask, and what it tells. */

/** Where a server of `bench/lb/server.mjs` answers: directly, or behind something. */
export type Target = {
  readonly origin: string;
  /** Stands before every path; empty for the server itself. */
  readonly prefix: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** A closed loop of small requests: each client sends its next when the last one was answered. */
export type SmallOrder = {
  readonly target: Target;
  readonly clients: number;
  readonly maxMs: number;
  /** Bytes of a POST's body; 0 for a GET. */
  readonly bodyBytes: number;
};

export type SmallResult = {
  readonly latenciesMs: readonly number[];
  readonly perSecond: number;
  readonly failures: number;
  /** What the first failure said. */
  readonly firstFailure: string | null;
};

export type TransferOrder = {
  readonly target: Target;
  readonly direction: "download" | "upload";
  readonly bytes: number;
  /** At once. */
  readonly clients: number;
};

export type EventsOrder = { readonly target: Target; readonly count: number; readonly gapMs: number };
export type SlowOrder = { readonly target: Target; readonly clients: number; readonly bytes: number };

/** Requests that come in their own time, whatever becomes of those before. */
export type SteadyOrder = {
  readonly target: Target;
  readonly count: number;
  readonly everyMs: number;
  /** Time that the server takes for each. */
  readonly waitMs: number;
};
