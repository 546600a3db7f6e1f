/**
 * Rate limits of the queue API, for each endpoint and operation.
 *
 * They grow with the workers of the endpoint: the limit in effect is the higher of the base below and
 * (running workers × `perWorker`). Where the service's rule names no figure per worker, ours is a fifth of
 * the base, as it is for all operations that have one. The concurrent limit grows in the same proportion,
 * which is our own choice: a fixed one would leave workers idle long before the window is used up.
 */
export const RATE_WINDOW_MS = 10_000;

export type RateLimit = {
  /** Requests admitted in any window of `RATE_WINDOW_MS`, while no worker or few workers run. */
  readonly requests: number;
  /** Requests in progress at the same time, waiting included; null for as many as there are. */
  readonly concurrent: number | null;
  /** Requests in a window that one running worker stands for; null for a limit that does not grow. */
  readonly perWorker: number | null;
};

const LIMITS = {
  runsync: { requests: 2_000, concurrent: 400, perWorker: 400 },
  run: { requests: 1_000, concurrent: 200, perWorker: 200 },
  /** `status` and `status-sync`. */
  status: { requests: 2_000, concurrent: 400, perWorker: 400 },
  stream: { requests: 2_000, concurrent: 400, perWorker: 400 },
  cancel: { requests: 100, concurrent: 20, perWorker: 20 },
  "purge-queue": { requests: 2, concurrent: null, perWorker: null },
  openai: { requests: 2_000, concurrent: 400, perWorker: 400 },
  requests: { requests: 10, concurrent: 2, perWorker: 2 },
  // No limit is stated for these; ours are those of cancel, which is as rare and as costly.
  retry: { requests: 100, concurrent: 20, perWorker: 20 },
  /** Reading a delivery log, and redelivery. */
  webhooks: { requests: 100, concurrent: 20, perWorker: 20 },
  batch: { requests: 100, concurrent: 20, perWorker: 20 },
} as const satisfies Record<string, RateLimit>;

export type LimitedOperation = keyof typeof LIMITS;

export const LIMITED_OPERATIONS = Object.keys(LIMITS) as LimitedOperation[];

export const RATE_LIMITS: Readonly<Record<LimitedOperation, RateLimit>> = LIMITS;

/**
 * Rate limits of everything that is not limited by an endpoint's object. They are counted by bindings of the platform,
 * one for each limit and each location of Cloudflare's network, so a caller that reaches the edge in several places
 * has them several times. Each isolate counts as well, which is the only count where a binding is missing.
 */
export type EdgeRateLimit = {
  readonly requests: number;
  readonly seconds: 10 | 60;
  /** Whose requests are counted together. */
  readonly per: "key" | "host" | "account" | "address" | "upload";
  readonly what: string;
};

const EDGE_LIMITS = {
  /** IPv6 addresses count by their first 48 bits. */
  credentials: { requests: 300, seconds: 60, per: "address", what: "wrong keys and tokens" },
  keyless: {
    requests: 600,
    seconds: 60,
    per: "address",
    what: "GraphQL requests without a key, or requests to pods that do not exist",
  },
  join: { requests: 300, seconds: 60, per: "address", what: "joins of hosts" },
  management: { requests: 2_000, seconds: 10, per: "key", what: "GraphQL and REST requests" },
  logs: { requests: 1_200, seconds: 60, per: "key", what: "reads of logs" },
  measures: { requests: 2_000, seconds: 10, per: "key", what: "reads of health and metrics" },
  scrape: { requests: 300, seconds: 60, per: "key", what: "scrapes of metrics" },
  unknown: { requests: 600, seconds: 60, per: "account", what: "requests to endpoints that do not exist" },
  artifacts: { requests: 6_000, seconds: 60, per: "upload", what: "parts of artifacts" },
  agent: { requests: 12_000, seconds: 60, per: "host", what: "calls of an agent" },
  exchange: { requests: 20_000, seconds: 10, per: "host", what: "exchanges of an agent" },
} as const satisfies Record<string, EdgeRateLimit>;

export type EdgeLimited = keyof typeof EDGE_LIMITS;

export const EDGE_RATE_LIMITS: Readonly<Record<EdgeLimited, EdgeRateLimit>> = EDGE_LIMITS;

/**
 * An isolate reports every twentieth request to the binding, whose limit in wrangler.toml is a twentieth of the number
 * here: a call for each request would cost as much as the request.
 */
export const REQUESTS_PER_REPORT = 20;

/** The name of the binding that counts a limit. */
export function rateLimitBinding(limited: EdgeLimited): `RATE_LIMIT_${Uppercase<EdgeLimited>}` {
  return `RATE_LIMIT_${limited.toUpperCase() as Uppercase<EdgeLimited>}`;
}
