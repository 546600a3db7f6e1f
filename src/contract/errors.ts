/** Errors of the HTTP APIs. */
import * as z from "zod";
import type { Immutable } from "./immutable.ts";
import { MESSAGE_MAX_CHARACTERS } from "./limits.ts";

/** The closed list of error codes of the HTTP APIs, with the status that each one has. */
export const ERROR_STATUS = {
  invalid_input: 400,
  wrong_endpoint_type: 400,
  /** No worker took the request in time. */
  worker_timeout: 400,
  unauthorized: 401,
  /** Clients of this API style know 401 for every key that may not do something; 403 they do not handle. */
  insufficient_permission: 401,
  /** The request came over plain HTTP, where others can read its key. */
  https_required: 403,
  not_found: 404,
  endpoint_not_found: 404,
  job_not_found: 404,
  /** The worker that was asked for is none any more. */
  affinity_worker_gone: 404,
  job_not_retryable: 409,
  /** The host has no worker of the endpoint, or none that needs what it asks for. */
  worker_not_assigned: 409,
  payload_too_large: 413,
  rate_limited: 429,
  internal: 500,
  /** The operator of this Edgerun has to change its settings. */
  not_configured: 500,
  /** The worker broke off, refused the connection, or gave an answer that is none. */
  worker_failed: 502,
  /** The worker did not answer in time. */
  worker_too_slow: 524,
} as const;

/** With this an object ends that was emptied; whoever was calling it is told that there is no such endpoint. */
export const ENDPOINT_DELETED = "The endpoint was deleted.";

export type ErrorCode = keyof typeof ERROR_STATUS;
export type ErrorStatus = (typeof ERROR_STATUS)[ErrorCode];

const STATUS_TITLES: Record<ErrorStatus, string> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  409: "Conflict",
  413: "Payload Too Large",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  524: "A Timeout Occurred",
};

/**
 * An error body of the queue API. Readers differ in which member they look at, so it carries all of them;
 * it never has a `status` member, because one real client would take that for a job status.
 */
export const errorBodySchema = z
  .object({
    error: z.string().meta({ description: "What happened and what to do." }),
    code: z.enum(Object.keys(ERROR_STATUS) as ErrorCode[]),
    title: z.string(),
    detail: z.string(),
  })
  .meta({ id: "Error" });
export type ErrorBody = Immutable<z.infer<typeof errorBodySchema>>;

/** An error body of a load-balanced endpoint, whose readers look for the status. */
export const directErrorBodySchema = errorBodySchema
  .extend({ status: z.int().meta({ description: "The status of the answer." }) })
  .meta({ id: "DirectError" });
export type DirectErrorBody = Immutable<z.infer<typeof directErrorBodySchema>>;

/** Builds the error body for a code from one sentence that says what to do. */
export function errorBody(code: ErrorCode, message: string): ErrorBody {
  const detail = cutMessage(message);
  return { error: detail, code, title: STATUS_TITLES[ERROR_STATUS[code]], detail };
}

/** A message as it may be sent: one that repeats a megabyte of input is no use to anybody. */
export function cutMessage(message: string): string {
  return message.length <= MESSAGE_MAX_CHARACTERS ? message : `${message.slice(0, MESSAGE_MAX_CHARACTERS)} …`;
}
