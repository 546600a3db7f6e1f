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
 * How long a stream call is held while there is nothing to send. Less than 10 s, after which the Python
 * client gives the call up, and would lose the chunks of an answer that comes in that moment.
 */
export const STREAM_HOLD_MS = 8 * SECOND;

// Sizes

export const RUN_BODY_MAX_BYTES = 10 * MEGABYTE;
export const RUNSYNC_BODY_MAX_BYTES = 20 * MEGABYTE;
export const OPENAI_BODY_MAX_BYTES = 20 * MEGABYTE;
export const RESULT_MAX_BYTES = 20 * MEGABYTE;
/** Reports that an agent sends together; large results are uploaded before. */
export const EXCHANGE_REPORTS_MAX_BYTES = 4 * MEGABYTE;
/** Progress of held jobs that an agent sends together; what is left out goes with a later exchange. */
export const EXCHANGE_PROGRESS_MAX_BYTES = 2 * MEGABYTE;
export const CONTROL_BODY_MAX_BYTES = MEGABYTE;

/** One chunk of a stream, as JSON text. Larger text is sent in pieces; another larger value fails its job. */
export const CHUNK_MAX_BYTES = MEGABYTE;
/** All chunks of a job that are kept. */
export const STREAM_MAX_BYTES = 20 * MEGABYTE;

export const IDEMPOTENCY_KEY_MAX_LENGTH = 255;

/** A payload above this size is kept in R2; the object holds a reference. */
export const INLINE_PAYLOAD_MAX_BYTES = 256 * 1024;

// Queue

/** Jobs that may wait at once in one endpoint, unless its configuration says otherwise. */
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
/** Hold an agent asks of its sync while it holds jobs and has no presence, so that its silence is noticed soon. */
export const BUSY_SYNC_HOLD_MS = 4 * SECOND;
/** An agent's presence beats this often. */
export const PRESENCE_BEAT_MS = 3 * SECOND;
/** Silence of a presence after which its other end is taken for gone: two beats, and time for one that was lost on its way. */
export const PRESENCE_SILENCE_MS = 10 * SECOND;
/** A presence is replaced before the script that holds it has used up its CPU time. */
export const PRESENCE_MAX_AGE_MS = HOUR;

// Workers

/** A container that took jobs, has none and asks for none for so long has ended its loop, if not its process. */
export const WORKER_SILENCE_LIMIT_MS = 3 * MINUTE;
/** Time a cancelled or timed-out handler gets before its container is killed. */
export const STOP_GRACE_MS = 5 * SECOND;
/** Time a drained container gets between SIGTERM and SIGKILL. */
export const DRAIN_GRACE_MS = 10 * SECOND;

// What workers may ask of their agent at once

/** Bodies of results and chunks that an agent has in memory, of all its workers: four of the largest. */
export const WORKER_BODIES_BUDGET_BYTES = 84 * MEGABYTE;
/** Time for a worker to send a body, once the agent reads it. */
export const WORKER_BODY_LIMIT_MS = 30 * SECOND;
/** Requests of one worker that are not answered yet, polls included: a worker has at most 1,000 jobs. */
export const WORKER_REQUESTS_MAX = 1_100;
/** Connections to the agent, of one container and of all. */
export const WORKER_CONNECTIONS_PER_IP_MAX = 2_000;
export const WORKER_CONNECTIONS_MAX = 10_000;

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
/** The same on a host, of all endpoints. */
export const AGENT_WEBSOCKETS_BUFFER_MAX_BYTES = 64 * MEGABYTE;

/** An agent pings its links this often, to which nobody wakes; one that has not answered by the next is gone. */
export const LINK_PING_MS = 10 * SECOND;
/** Silence of a link that has requests: it gets no more while there are others; it is taken for lost. */
export const LINK_SUSPECT_MS = 3 * SECOND;
export const LINK_SILENCE_MS = 10 * SECOND;

/** The health of a worker is looked at this often until it is healthy at first, and this often later. */
export const HEALTH_PROBE_START_MS = SECOND;
export const HEALTH_PROBE_MS = 5 * SECOND;
/** Failures in a row after which a worker gets no requests. */
export const HEALTH_FAILURES_MAX = 3;
/** A worker that has just started is looked at this often for so long: most of a cold start is over by then. */
export const HEALTH_PROBE_EAGER_MS = 100;
export const HEALTH_PROBE_EAGER_FOR_MS = 10 * SECOND;
/** Time for a worker to answer a look at its health. */
export const HEALTH_PROBE_TIMEOUT_MS = 5 * SECOND;
/** What is read of the answer's body, so that the worker need not see a broken connection. */
export const HEALTH_BODY_MAX_BYTES = 64 * 1024;
/** Time without a server on its port after which it is looked for on others. */
export const PORT_HINT_AFTER_MS = 3 * SECOND;
/** Time for the requests of a worker to end that is drained or shall be frozen: more than a request may take until its answer begins. */
export const DIRECT_DRAIN_MS = 6 * MINUTE;

// Images on a host

/** Time without any progress after which the pull of an image is given up and begun again. */
export const PULL_STALL_MS = 2 * MINUTE;
/** The same for the question whether a tag has moved, while there is an image that can be used. */
export const IMAGE_CHECK_LIMIT_MS = 20 * SECOND;
/** Least time between two tellings of how far a pull is: each costs a row for each worker that waits. */
export const PULL_PROGRESS_MS = 5 * SECOND;
/** Time for Docker's daemon to answer a call that is no stream. */
export const DOCKER_CALL_LIMIT_MS = MINUTE;
/** Free disk of a host below which images that nobody uses are removed, in GB, unless its owner says otherwise. */
export const DISK_RESERVE_DEFAULT_GB = 10;

// Audit log and maintenance

/** How long an inline template is kept whose endpoint could not be saved: a client that tries again takes it over. */
export const ORPHAN_RETENTION_MS = HOUR;
/** Rows that one task of one maintenance run removes at most. */
export const MAINTENANCE_ROWS_MAX = 500;

// Logs

/** What a worker may print for long, and at once; beyond it lines are dropped, and their number is told. */
export const LOG_BYTES_PER_SECOND = 100_000;
export const LOG_BURST_BYTES = 2 * MEGABYTE;
/** Lines of one worker that an agent holds until the edge has them; beyond it the oldest are dropped. */
export const LOG_BUFFER_MAX_BYTES = 4 * MEGABYTE;
/** Silence is broken soon; after so many batches in a row a worker gets one a minute. Each batch is an object in R2. */
export const LOG_BATCH_AFTER_MS = 2 * SECOND;
export const LOG_BATCH_EVERY_MS = MINUTE;
export const LOG_BATCH_BURST = 10;
/** While somebody follows, lines that come this close together are sent together. */
export const LOG_LIVE_DELAY_MS = 200;
/** Lines that were kept this shortly before somebody began to follow are sent once more. */
export const LOG_OVERLAP_MS = 10 * SECOND;

// Endpoint settings

export const NAME_MAX_CHARACTERS = 191;

/** Endpoint objects that one request of the management API calls at the same time. */
export const ENDPOINT_CALLS_CONCURRENT_MAX = 20;

// Metrics and usage

export const USAGE_RETENTION_MS = 400 * DAY;
