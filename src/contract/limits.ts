/** Numbers that several programs or layers agree on, each with its unit; any other stands where its work is bounded. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const MEGABYTE = 1_000_000;

// Job policy

export const EXECUTION_TIMEOUT_DEFAULT_MS = 10 * MINUTE;
export const EXECUTION_TIMEOUT_MIN_MS = 5 * SECOND;
export const EXECUTION_TIMEOUT_MAX_MS = 7 * DAY;

export const TTL_DEFAULT_MS = DAY;
export const TTL_MAX_MS = 7 * DAY;

export const WAIT_DEFAULT_MS = 90 * SECOND;

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

/** A payload above this size is kept in R2; the object holds a reference. */
export const INLINE_PAYLOAD_MAX_BYTES = 256 * 1024;

/** Size of one network volume. */
export const NETWORK_VOLUME_MAX_GB = 4_096;

/** Pods of one cluster: each takes some calls of D1 and Fleet, and a request may make a thousand. */
export const CLUSTER_PODS_MAX = 100;

// Queue

/** Jobs that may wait at once in one endpoint, unless its configuration sets another limit. */
export const QUEUE_DEPTH_MAX = 1_000_000;

/** Objects that may share the queue of one endpoint. */
export const ENDPOINT_SHARDS_MAX = 64;

/** What one row of the management API may hold: D1 keeps no larger one than 2 MB. */
export const ROW_MAX_BYTES = 1_500_000;

// Leases, agents and hosts

/** Longest time the edge holds an agent's exchange or sync. */
export const AGENT_HOLD_MAX_MS = 50 * SECOND;
/** Silence of a presence after which its other end is taken for gone: two beats, and time for one that was lost on its way. */
export const PRESENCE_SILENCE_MS = 10 * SECOND;

// Load-balanced endpoints

/** The largest body of a load-balanced request, and of its response. */
export const LOAD_BALANCED_BODY_MAX_BYTES = 30 * MEGABYTE;
/** The largest body that is sent together with its request's head. */
export const LOAD_BALANCED_INLINE_BODY_BYTES = 64 * 1024;

// Endpoint settings

export const NAME_MAX_CHARACTERS = 191;
