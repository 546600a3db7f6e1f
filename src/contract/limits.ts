/** The numbers of the service, each with its unit. Nothing else in the code repeats them. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MEGABYTE = 1_000_000;

// Job policy

export const EXECUTION_TIMEOUT_DEFAULT_MS = 10 * MINUTE;
export const EXECUTION_TIMEOUT_MIN_MS = 5 * SECOND;
export const EXECUTION_TIMEOUT_MAX_MS = 7 * DAY;

export const TTL_DEFAULT_MS = DAY;
export const TTL_MIN_MS = 10 * SECOND;
export const TTL_MAX_MS = 7 * DAY;

// Waiting

export const WAIT_MIN_MS = SECOND;
export const WAIT_MAX_MS = 5 * MINUTE;
export const WAIT_DEFAULT_MS = 90 * SECOND;

/**
 * How long a stream call stays open while there is nothing to send. Less than 10 s, after which the Python
 * client gives up the call, and would lose the chunks of an answer that arrives at that moment.
 */
export const STREAM_HOLD_MS = 8 * SECOND;

// Sizes

export const RUN_BODY_MAX_BYTES = 10 * MEGABYTE;
export const RUNSYNC_BODY_MAX_BYTES = 20 * MEGABYTE;
export const OPENAI_BODY_MAX_BYTES = 20 * MEGABYTE;
export const RESULT_MAX_BYTES = 20 * MEGABYTE;
export const CONTROL_BODY_MAX_BYTES = MEGABYTE;

/** One chunk of a stream, as JSON text. Larger text is sent in pieces; another larger value fails its job. */
export const CHUNK_MAX_BYTES = MEGABYTE;
/** All chunks of a job that are kept. */
export const STREAM_MAX_BYTES = 20 * MEGABYTE;

export const IDEMPOTENCY_KEY_MAX_LENGTH = 255;

/** A payload above this size is kept in R2; the object holds a reference. */
export const INLINE_PAYLOAD_MAX_BYTES = 256 * 1024;

// Queue

/** Jobs that may wait at once in one endpoint, unless its configuration sets another limit. */
export const QUEUE_DEPTH_MAX = 1_000_000;

// Webhooks

export const WEBHOOK_TIMEOUT_MS = 10 * SECOND;

/** What one row of the management API may hold: D1 keeps no larger one than 2 MB. */
export const ROW_MAX_BYTES = 1_500_000;

// What one account may have: its lists are shown whole, and a change may concern all endpoints at once

/** Hosts that have ended do not count. Fleet has those of all accounts in memory. */
export const HOSTS_MAX = 1_000;

// Leases, agents and hosts

/** Longest time the edge holds an agent's exchange or sync. */
export const AGENT_HOLD_MAX_MS = 50 * SECOND;
/** Silence of a presence after which its other end is taken for gone: two beats, and time for one that was lost on its way. */
export const PRESENCE_SILENCE_MS = 10 * SECOND;

// Load-balanced endpoints

/** Of a request and of its answer. */
export const DIRECT_BODY_MAX_BYTES = 30 * MEGABYTE;
/** Up to so much a request's body travels with its head. */
export const DIRECT_INLINE_BODY_BYTES = 64 * 1024;
/** How long a request waits for a worker, and one that asks for a certain worker. */
export const DIRECT_WAIT_MS = 2 * MINUTE;
export const DIRECT_STRICT_WAIT_MS = 5 * MINUTE;
/** Time until a worker begins its answer, and between two pieces of it. */
export const DIRECT_TIME_LIMIT_MS = 5.5 * MINUTE;

/** Silence of a link that has requests: it gets no more while there are others; it is taken for lost. */
export const LINK_SUSPECT_MS = 3 * SECOND;
export const LINK_SILENCE_MS = 10 * SECOND;

// Audit log and maintenance

/** How long an inline template is kept whose endpoint could not be saved: a client that tries again takes it over. */
export const ORPHAN_RETENTION_MS = HOUR;
/** Rows that one task of one maintenance run removes at most. */
export const MAINTENANCE_ROWS_MAX = 500;

// Logs

/** While a client follows the logs, lines that arrive this close together are sent together. */
export const LOG_LIVE_DELAY_MS = 200;

// Endpoint settings

export const NAME_MAX_CHARACTERS = 191;

// GraphQL documents

/** Endpoint objects that one request of the management API calls at the same time. */
export const ENDPOINT_CALLS_CONCURRENT_MAX = 20;

// Metrics and usage

export const USAGE_RETENTION_MS = 400 * DAY;
