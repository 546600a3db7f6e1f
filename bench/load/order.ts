/** What the load driver is told to do, and what it tells. */

/** Where a contestant answers: the address before `/run`, and its key. */
export type Api = { readonly baseUrl: string; readonly apiKey: string };

/** One kind of request. In `path` stands `$ID` where the next of `ids` belongs. */
export type RequestKind = {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** JSON text. */
  readonly body?: string;
};

/** A closed loop: each client sends its next request when the last one was answered. */
export type LoadOrder = {
  readonly api: Api;
  readonly request: RequestKind;
  readonly clients: number;
  /** The load ends after so many requests or so long, whichever comes first. */
  readonly maxRequests: number;
  readonly maxMs: number;
  /** Job ids for `$ID`, each used once, or in turn when `areIdsReused`. */
  readonly ids?: readonly string[];
  readonly areIdsReused?: boolean;
  /** Pause of a client between an answer and its next request. */
  readonly gapMs?: number;
  /** `status` that an answer must have; any other is a failure. */
  readonly expectedStatus?: string;
  /** Returns the ids of the answers. */
  readonly isCollecting?: boolean;
};

/** Latencies in ms. */
export type Latency = { readonly p50: number; readonly p99: number; readonly max: number };

export type LoadResult = {
  readonly count: number;
  readonly failures: number;
  /** What the first failure said. */
  readonly firstFailure: string | null;
  readonly seconds: number;
  readonly perSecond: number;
  readonly latency: Latency;
  readonly ids: readonly string[];
};
