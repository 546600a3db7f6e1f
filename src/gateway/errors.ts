/** Turns whatever was thrown into an answer, in the form that each protocol's clients read. */
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import {
  type LoadBalancedErrorBody,
  errorBody,
  type ErrorDetails,
  ERRORS,
  isQueueErrorCode,
  problem,
  type QueueErrorCode,
  ServiceError,
} from "../contract/errors.ts";
import type { RestError } from "../contract/rest/rest.ts";
import { errorBodyOf, errorOfCode, type OpenaiErrorDetails } from "../domain/openai/openai-error-details.ts";
import { discardBody } from "../durable/request-body.ts";
import { logFailure } from "../management/failure-log.ts";
import { AFFINITY_HEADER } from "./load-balancing/headers.ts";

type ErrorAnswer = {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
};
type KnownError = {
  readonly code: QueueErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
};

/** An error in the form of one protocol. */
export type ErrorFormat = (error: KnownError) => ErrorAnswer;

const queueFormat: ErrorFormat = ({ code, message }) => ({
  status: ERRORS[code].status,
  body: errorBody(code, message),
});

/** The form of the queue API, with the status in the body. */
export const loadBalancingFormat: ErrorFormat = ({ code, message }) => {
  const { status } = ERRORS[code];
  return { status, body: { ...errorBody(code, message), status } satisfies LoadBalancedErrorBody };
};

export const openaiFormat: ErrorFormat = ({ code, message, details: { param = null } }) =>
  openaiAnswer({ ...errorOfCode(code, message), param });

/** A job of an OpenAI request ended with this error, whose members are often those of the worker. */
export class OpenaiJobError extends Error {
  override readonly name = "OpenaiJobError";
  readonly details: OpenaiErrorDetails;

  constructor(details: OpenaiErrorDetails) {
    super(details.message);
    this.details = details;
  }
}

/** For the queue API, the agent API, artifacts, and all APIs without their own error format. */
export async function renderError(error: Error, context: Context): Promise<Response> {
  return await send(context, answerOf(error, context.req.path, queueFormat));
}

export async function renderOpenaiError(error: Error, context: Context): Promise<Response> {
  if (error instanceof OpenaiJobError) return await send(context, openaiAnswer(error.details));
  return await send(context, answerOf(error, context.req.path, openaiFormat));
}

export async function renderRestError(error: Error, context: Context): Promise<Response> {
  const known =
    error instanceof ServiceError
      ? error
      : unexpected(error, context.req.path, "Internal server error. Please try again later.");
  const { code, message } = known;
  const status = ERRORS[code].rest ?? ERRORS[code].status;
  const body: RestError = { error: message, message, status, code };
  return await send(context, { status, body, headers: detailHeaders(known) });
}

export async function renderProblem(error: Error, context: Context): Promise<Response> {
  const known =
    error instanceof ServiceError
      ? error
      : unexpected(error, context.req.path, "Internal server error. Please try again later.");
  const body = problem(known);
  const headers = { ...detailHeaders(known), "Content-Type": "application/problem+json" };
  return await send(context, { status: body.status, body, headers });
}

/** For requests to load-balanced workers, whose clients may be those of OpenAI. */
export async function renderLoadBalancingError(
  error: unknown,
  request: Request,
  format: ErrorFormat = loadBalancingFormat,
): Promise<Response> {
  await discardBody(request);
  const { body, ...init } = answerOf(isReset(error) ? WORKER_CUT_OFF : error, "/lb", format);
  return Response.json(body, init);
}

const WORKER_CUT_OFF = new ServiceError(
  "worker_failed",
  "The edge restarted and the connection to the worker was lost. Whether the worker has done anything is not known.",
);

function isReset(error: unknown): boolean {
  return !(error instanceof ServiceError) && hasFlag(error, "durableObjectReset");
}

function answerOf(error: unknown, path: string, format: ErrorFormat): ErrorAnswer {
  const known = knownError(error, path);
  const { headers, ...answer } = format(known);
  return { ...answer, headers: { ...detailHeaders(known), ...headers } };
}

function knownError(error: unknown, path: string): KnownError {
  if (error instanceof ServiceError) {
    const { code, message, details } = error;
    if (isQueueErrorCode(code)) return { code, message, details };
  }
  if (hasFlag(error, "overloaded")) {
    const message = "The endpoint is overloaded. Try again in a second.";
    return { code: "rate_limited", message, details: { retryAfterSeconds: 1 } };
  }
  return unexpected(
    error,
    path,
    "Something went wrong on our side. Try again; if it persists, see the logs.",
  );
}

/** The message of a bug is logged and not sent. */
function unexpected(error: unknown, path: string, message: string): KnownError {
  logFailure("request_failed", { path }, error);
  return { code: "internal", message, details: {} };
}

/** The runtime marks the errors that it throws itself. */
function hasFlag(error: unknown, flag: "overloaded" | "durableObjectReset"): boolean {
  return error instanceof Error && Reflect.get(error, flag) === true;
}

function detailHeaders({
  details: { retryAfterSeconds, workerId, allow },
}: KnownError | ServiceError): Record<string, string> {
  return {
    ...(allow && { Allow: allow.join(", ") }),
    ...(retryAfterSeconds !== undefined && { "Retry-After": `${retryAfterSeconds}` }),
    ...(workerId && { [AFFINITY_HEADER]: workerId }),
  };
}

/** The official clients try again after 408, 409, 429 and 5xx, unless the header decides. */
function openaiAnswer(details: OpenaiErrorDetails): ErrorAnswer {
  const headers = details.isRetryable ? {} : { "X-Should-Retry": "false" };
  return { status: details.status, body: errorBodyOf(details), headers };
}

async function send(context: Context, { status, body, headers }: ErrorAnswer): Promise<Response> {
  await discardBody(context.req.raw);
  // 524 is a status of Cloudflare, which the framework's list does not have.
  return context.json(body, status as ContentfulStatusCode, headers);
}
