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
export const CONTROL_BODY_MAX_BYTES = MEGABYTE;
/** A GraphQL request without a key: many times what the catalog and the login need. */
export const GRAPHQL_OPEN_BODY_MAX_BYTES = 16 * 1024;

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

// Batches

// Webhooks

export const WEBHOOK_TIMEOUT_MS = 10 * SECOND;
/** After a change of an account's secret, calls carry a signature of the old one as well for this long. */
export const WEBHOOK_SECRET_OVERLAP_MS = DAY;

/** What one row of the management API may hold: D1 keeps no larger one than 2 MB. */
export const ROW_MAX_BYTES = 1_500_000;

// What one account may have: its lists are shown whole, and a change may concern all endpoints at once

/** Revoked and expired keys count for as long as they are listed. */
export const API_KEYS_MAX = 5_000;
export const ENDPOINTS_MAX = 1_000;
export const TEMPLATES_MAX = 2_000;
export const SECRETS_MAX = 2_000;
export const REGISTRY_AUTHS_MAX = 500;
export const NETWORK_VOLUMES_MAX = 1_000;
/** Secrets that workers of one host refer to: all are open at once while its assignments are made. */
export const HOST_SECRETS_MAX = 200;
/** Hosts that have ended do not count. Fleet has those of all accounts in memory. */
export const HOSTS_MAX = 1_000;
/** Used ones count until they expire. */
export const JOIN_TOKENS_MAX = 1_000;
/** Secrets that sign webhooks at once; each call carries a signature of every one. */
export const WEBHOOK_SECRETS_MAX = 5;

// Lists

// Leases, agents and hosts

/** Longest time the edge holds an agent's exchange or sync. */
export const AGENT_HOLD_MAX_MS = 50 * SECOND;
/** Silence of a presence after which its other end is taken for gone: two beats, and time for one that was lost on its way. */
export const PRESENCE_SILENCE_MS = 10 * SECOND;

export const JOIN_TOKEN_TTL_MS = HOUR;
export const JOIN_TOKEN_TTL_MAX_MS = 7 * DAY;

// Workers

// What workers may ask of their agent at once

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

export const HEALTH_PROBE_MS = 5 * SECOND;
/** A worker that has just started is looked at this often for so long: most of a cold start is over by then. */
export const HEALTH_PROBE_EAGER_MS = 100;

// Images on a host

/** Time without any progress after which the pull of an image is given up and begun again. */
export const PULL_STALL_MS = 2 * MINUTE;

// Workers that keep failing on their host

// FLASHBOOT

// Credentials

/** How long an edge location remembers that a credential was wrong. */
export const CREDENTIAL_REJECTION_CACHE_MS = 5 * SECOND;
export const JOIN_TOKEN_TTL_MIN_MS = MINUTE;
/** Least time between two notes of a key's last use: good enough for people, and cheap in writes. */
export const KEY_USE_RECORD_INTERVAL_MS = HOUR;
export const API_KEY_TTL_MIN_MS = MINUTE;
export const API_KEY_TTL_MAX_MS = 3_650 * DAY;
/** Endpoints that one key may name; for more, a key gets access to all. */
export const API_KEY_ENDPOINTS_MAX = 100;
/** Public keys of an account, all together. */
export const PUBLIC_KEYS_MAX_CHARACTERS = 65_536;

// Audit log and maintenance

export const AUDIT_PAGE_DEFAULT = 50;
export const AUDIT_PAGE_MAX = 200;
/** How long an inline template is kept whose endpoint could not be saved: a client that tries again takes it over. */
export const ORPHAN_RETENTION_MS = HOUR;
/** Rows that one task of one maintenance run removes at most. */
export const MAINTENANCE_ROWS_MAX = 500;

// Logs

/** How long logs are kept, unless LOG_RETENTION_DAYS says otherwise. */
export const LOG_RETENTION_DAYS_DEFAULT = 14;
export const LOG_RETENTION_DAYS_MAX = 365;
/** While somebody follows, lines that come this close together are sent together. */
export const LOG_LIVE_DELAY_MS = 200;
/** What one query may read of R2; the rest comes with its cursor. */
export const LOG_QUERY_READS_MAX = 200;
export const LOG_QUERY_LISTS_MAX = 40;
export const LOG_QUERY_BYTES_MAX = 64 * MEGABYTE;
/** What logs of an account may add to R2 in a day, in GB, unless LOG_STORAGE_GB_PER_DAY says otherwise. */
export const LOG_STORAGE_DEFAULT_GB_PER_DAY = 10;
/** What an isolate may take of that ahead: the smallest and the largest share. */
export const LOG_SHARE_MIN_BYTES = MEGABYTE;
export const LOG_SHARE_MAX_BYTES = 64 * MEGABYTE;
/** Objects with old lines that one maintenance run removes at most. */
export const LOG_REMOVALS_MAX = 5_000;

// Secrets and registry credentials

export const SECRET_VALUE_MAX_BYTES = 64 * 1024;
export const SECRET_DESCRIPTION_MAX_CHARACTERS = 1_000;
export const REGISTRY_USERNAME_MAX_CHARACTERS = 255;
/** Some registries take a whole key file for a password. */
export const REGISTRY_PASSWORD_MAX_BYTES = 16 * 1024;

// Endpoint settings

export const NAME_MAX_CHARACTERS = 191;
/** A list of GPUs or places written as one text; naming all that there are takes a third of it. */
export const LIST_MAX_CHARACTERS = 4_096;

/** Variables in one list of a template or an endpoint. */
export const ENVIRONMENT_VARIABLES_MAX = 50;
/** Variables of one worker with their secrets filled in: more than that, Linux gives no process. */
export const WORKER_VARIABLES_MAX_CHARACTERS = 2 * MEGABYTE;
/** Variables and arguments of all workers in one answer to a host; the workers beyond it wait, and say why. */
export const ANSWER_ASSIGNMENTS_MAX_CHARACTERS = 16 * MEGABYTE;

// Network volumes

// Catalog

/** How long an edge location answers about stock without asking again: some clients ask hundreds of times. */
export const STOCK_CACHE_MS = 5 * SECOND;
/** Nominal price of an hour, unless GPU_PRICES says otherwise: clients drop what costs nothing. */
export const GPU_PRICE_PER_GB_HOUR = 0.001;
export const VCPU_PRICE_PER_HOUR = 0.001;

// GraphQL documents

export const GRAPHQL_DEPTH_MAX = 10;
export const GRAPHQL_FIELDS_MAX = 200;
export const GRAPHQL_ALIASES_PER_LEVEL_MAX = 50;
/** Bounds the work of the parser; a document at the other limits is far smaller. */
export const GRAPHQL_TOKENS_MAX = 20_000;
/** Brackets within brackets, so that the parser's recursion stays shallow; the standard documents have 15. */
export const GRAPHQL_NESTING_MAX = 50;
export const GRAPHQL_NAME_MAX_CHARACTERS = 200;
/** As written, in fragments that nobody spreads and in introspection too: validation compares them in pairs. */
export const GRAPHQL_SELECTIONS_MAX = 500;
export const GRAPHQL_OPERATIONS_MAX = 10;
export const GRAPHQL_DIRECTIVES_MAX = 50;
/** Lists and objects within each other in the variables. */
export const GRAPHQL_VARIABLES_DEPTH_MAX = 50;
/** Warnings of one answer of the management API. */
export const WARNINGS_MAX = 20;
/** Errors that one answer tells of; as many as a level can have aliases. */
export const GRAPHQL_ERRORS_MAX = 50;

// Cost of GraphQL documents, an estimate made before anything is executed; a plain field costs 1.

/** Five times the dearest document that a surveyed client sends. */
export const GRAPHQL_COST_MAX = 25_000;
/** Elements that a list of what an account owns is assumed to have. */
export const GRAPHQL_LIST_SIZE_ASSUMED = 20;
/** Elements that a list of parts of one thing is assumed to have: workers of an endpoint, variables of a template. */
export const GRAPHQL_CHILDREN_ASSUMED = 4;
/** A mutation writes, and tells objects. */
export const GRAPHQL_MUTATION_COST = 1_000;
/** A field for which a Durable Object is asked. */
export const GRAPHQL_OBJECT_COST = 10;

/** Endpoint objects that one request of the management API tells something at the same time. */
export const ENDPOINT_CALLS_CONCURRENT_MAX = 20;

// Metrics and usage

/** Objects of endpoints that one maintenance run asks for their usage. */
export const USAGE_CALLS_MAX = 100;
/** Hours of usage that one maintenance run collects of workers, and the most that one question covers. */
export const USAGE_HOURS_MAX = 24;
/** How far back usage is still collected; less than the hours that endpoints retain. */
export const USAGE_REACH_MS = 9 * DAY;
export const USAGE_RETENTION_MS = 400 * DAY;
/** Clocks of objects may differ: an hour is complete when it is over by this. */
export const USAGE_CLOCK_TOLERANCE_MS = 2 * MINUTE;
/** Hours of endpoints that one question about usage may read. */
export const USAGE_SPANS_MAX = 20_000;
