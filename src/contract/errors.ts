/** Errors of the APIs: one table of codes, one class, and the bodies of the queue API and of load-balanced endpoints. */
import * as z from "zod";
import type { Immutable } from "./immutable.ts";

type ErrorRow = {
  /** HTTP status, in all APIs that have no other one. */
  readonly status: ErrorStatus;
  /** HTTP status in REST, where it differs. */
  readonly rest?: 503;
  /** `extensions.code` in GraphQL, where it is not the code in upper case. */
  readonly graphql?: string;
  /** The code below `/openai`, where it differs. */
  readonly openai?: string;
  /** False where OpenAI's clients would send the request again and must not. */
  readonly isRetryable?: false;
};

/** Codes of the queue API, load balancing, the agent API and artifacts; the management API shares some of them. */
const QUEUE_ERRORS = {
  invalid_input: { status: 400 },
  wrong_endpoint_type: { status: 400 },
  /** No worker took the request in time. */
  worker_timeout: { status: 400 },
  unauthorized: { status: 401, openai: "invalid_api_key" },
  /** 401 instead of 403: clients of these APIs handle 401 for a key that lacks a permission, and not 403. */
  insufficient_permission: { status: 401 },
  /** The request came over plain HTTP, where others can read its key. */
  https_required: { status: 403 },
  not_found: { status: 404 },
  endpoint_not_found: { status: 404 },
  budget_not_found: { status: 404 },
  job_not_found: { status: 404 },
  /** The worker that the affinity header names no longer exists. */
  affinity_worker_gone: { status: 404 },
  job_not_retryable: { status: 409 },
  /** The host has no worker of the endpoint, or none that needs the requested file. */
  worker_not_assigned: { status: 409 },
  /** The pod is stopped, and stays so until its owner starts it. */
  pod_stopped: { status: 409 },
  /** The container starts, stops or is on standby. */
  container_not_running: { status: 409 },
  /** The tunnel that shall be resumed is over. */
  tunnel_gone: { status: 410 },
  payload_too_large: { status: 413 },
  rate_limited: { status: 429, openai: "rate_limit_exceeded" },
  internal: { status: 500 },
  /** The operator of this Edgerun has to change its settings. */
  not_configured: { status: 500, rest: 503 },
  /** The worker broke off, refused the connection, or sent an invalid answer. */
  worker_failed: { status: 502 },
  /** The pod is stopped, starts, or its host is away. */
  pod_not_running: { status: 503 },
  /** The agent of the host has no link for tunnels at the moment. */
  host_not_connected: { status: 503 },
  /** The worker did not answer in time; it would be busy for as long again if the client repeated the request. */
  worker_too_slow: { status: 524, isRetryable: false },
} as const satisfies Record<string, ErrorRow>;

/**
 * Codes of GraphQL and REST alone. REST clients try again after 5xx, so an error that persists until a user changes
 * something has a 4xx status; never 403, which some clients take for a revoked key.
 */
const MANAGEMENT_ERRORS = {
  bad_request: { status: 400 },
  method_not_allowed: { status: 404 },
  graphql_parse_failed: { status: 400 },
  graphql_validation_failed: { status: 400 },
  endpoint_has_workers: { status: 400 },
  endpoint_name_taken: { status: 400 },
  template_not_found: { status: 404 },
  template_name_taken: { status: 400 },
  template_in_use: { status: 400 },
  secret_not_found: { status: 404 },
  secret_name_taken: { status: 400 },
  registry_auth_not_found: { status: 404 },
  registry_auth_in_use: { status: 400 },
  network_volume_not_found: { status: 404 },
  network_volume_in_use: { status: 400 },
  api_key_not_found: { status: 404 },
  sign_in_not_found: { status: 404 },
  host_not_found: { status: 404 },
  join_token_not_found: { status: 404 },
  pod_not_found: { status: 404 },
  pod_locked: { status: 400 },
  /** What the state of the pod does not allow. */
  pod_state: { status: 409 },
  app_not_found: { status: 404 },
  app_name_taken: { status: 400 },
  app_in_use: { status: 400 },
  flash_environment_not_found: { status: 404 },
  flash_environment_name_taken: { status: 400 },
  flash_build_not_found: { status: 404 },
  artifact_not_found: { status: 404 },
  /** A client compares the GraphQL code with this message. */
  cluster_not_found: { status: 404, graphql: "Cluster not found" },
  limit_reached: { status: 400 },
  no_capacity: { status: 503 },
  not_supported: { status: 400 },
  /** An operation of the API that this version does not have. */
  not_implemented: { status: 501 },
  unavailable: { status: 503 },
} as const satisfies Record<string, ErrorRow>;

const STATUS_TITLES = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  410: "Gone",
  413: "Payload Too Large",
  429: "Too Many Requests",
  422: "Unprocessable Content",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  524: "A Timeout Occurred",
} as const;

/** Statuses of errors, those of handlers that are passed on included. */
export type ErrorStatus = keyof typeof STATUS_TITLES;
export type QueueErrorCode = keyof typeof QUEUE_ERRORS;
export type ErrorCode = QueueErrorCode | keyof typeof MANAGEMENT_ERRORS;

/** The closed list of error codes. */
export const ERRORS: Readonly<Record<ErrorCode, ErrorRow>> = { ...QUEUE_ERRORS, ...MANAGEMENT_ERRORS };

export const QUEUE_ERROR_CODES = Object.keys(QUEUE_ERRORS) as QueueErrorCode[];

export function isQueueErrorCode(code: ErrorCode): code is QueueErrorCode {
  return code in QUEUE_ERRORS;
}

/** The code as GraphQL's `extensions.code`. */
export function graphqlErrorCode(code: ErrorCode): string {
  return ERRORS[code].graphql ?? code.toUpperCase();
}

export type ErrorDetails = {
  /** Becomes the header Retry-After. */
  readonly retryAfterSeconds?: number;
  /** The load-balanced worker that failed. */
  readonly workerId?: string | null;
  /** The member of an OpenAI request that is wrong. */
  readonly param?: string;
  /** What a schema finds wrong with the request, one text for each field. */
  readonly issues?: readonly string[];
  /** The methods that the path has. */
  readonly allow?: readonly string[];
};

/** An error for the caller to read, thrown anywhere and rendered once per protocol; any other exception is a bug. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  /** `message` states what happened and what to do; it is cut to the length limit of messages. */
  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(cutMessage(message));
    this.code = code;
    this.details = details;
  }
}

export function hasErrorCode(error: unknown, ...codes: readonly ErrorCode[]): error is ServiceError {
  return error instanceof ServiceError && codes.includes(error.code);
}

/** The message of the exception with which a deleted endpoint's object resets itself; its callers answer 404. */
export const ENDPOINT_DELETED = "The endpoint was deleted.";

/**
 * An error body of the queue API. Readers differ in which member they look at, so it carries all of them;
 * it never has a `status` member, because one real client would take that for a job status.
 */
export const errorBodySchema = z
  .object({
    error: z.string().meta({ description: "What happened and what to do." }),
    code: z.enum(QUEUE_ERROR_CODES),
    title: z.string(),
    detail: z.string(),
  })
  .meta({ id: "Error" });
export type ErrorBody = Immutable<z.infer<typeof errorBodySchema>>;

/** An error body of a load-balanced endpoint, whose readers look for the status. */
export const loadBalancedErrorBodySchema = errorBodySchema
  .extend({ status: z.int().meta({ description: "The status of the answer." }) })
  .meta({ id: "DirectError" });
export type LoadBalancedErrorBody = Immutable<z.infer<typeof loadBalancedErrorBodySchema>>;

export function errorBody(code: QueueErrorCode, message: string): ErrorBody {
  const detail = cutMessage(message);
  return { error: detail, code, title: STATUS_TITLES[ERRORS[code].status], detail };
}

/** An error body of REST v2: a problem of RFC 9457. */
export const problemSchema = z
  .object({
    title: z.string(),
    status: z.int().meta({ description: "The HTTP status.", example: 404 }),
    detail: z.string().meta({ description: "What happened and what to do." }),
    errors: z.array(z.string()).optional().meta({ description: "What is wrong, field by field." }),
    code: z
      .string()
      .meta({ description: "The same in one word, for programs.", example: "template_not_found" }),
  })
  .meta({ id: "Problem" });
export type Problem = z.infer<typeof problemSchema>;

/** Statuses of REST v2 where they are not those of the other APIs. */
const PROBLEM_STATUS: Partial<Record<ErrorCode, ErrorStatus>> = {
  insufficient_permission: 403,
  method_not_allowed: 405,
  pod_locked: 409,
};

/** The body of an error in REST v2. A request that a schema refuses is 422, one that breaks a rule 400. */
export function problem({
  code,
  message,
  details: { issues },
}: Pick<ServiceError, "code" | "message" | "details">): Problem {
  const status = issues ? 422 : (PROBLEM_STATUS[code] ?? ERRORS[code].rest ?? ERRORS[code].status);
  return {
    title: STATUS_TITLES[status],
    status,
    detail: message,
    ...(issues && { errors: [...issues] }),
    code,
  };
}

/** Error messages are cut to this: they may repeat what the caller sent. */
export const MESSAGE_MAX_CHARACTERS = 2_000;

export function cutMessage(message: string): string {
  return message.length <= MESSAGE_MAX_CHARACTERS ? message : `${message.slice(0, MESSAGE_MAX_CHARACTERS)} …`;
}
