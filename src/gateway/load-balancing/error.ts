/** Errors of load-balanced endpoints: the shape of the queue API and, as their clients know it, the status. */
import { RateLimitedError } from "../../auth/request-rates.ts";
import { ERROR_STATUS, errorBody, type DirectErrorBody, type ErrorCode } from "../../contract/errors.ts";
import { logFailure } from "../../failure-log.ts";
import { ApiError } from "../api-error.ts";
import { discardBody } from "../../durable/discarded-body.ts";
import { AFFINITY_HEADER } from "./headers.ts";

type ErrorDetails = { readonly workerId?: string | null; readonly retryAfterSeconds?: number };

/** Says more than its code: which worker it was, and when to try again. */
export class LoadBalancerError extends ApiError {
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(code, message);
    this.details = details;
  }
}

/** An error as a kind of client knows it. */
export type ErrorShape = (
  code: ErrorCode,
  message: string,
) => { readonly body: object; readonly headers?: Readonly<Record<string, string>> };

/** For these endpoints' own clients. */
export function loadBalancerErrorShape(code: ErrorCode, message: string): { readonly body: DirectErrorBody } {
  return { body: { ...errorBody(code, message), status: ERROR_STATUS[code] } };
}

/** Turns whatever was thrown into an answer; nothing of an unexpected error leaves the house. */
export async function renderLoadBalancerError(
  error: unknown,
  request: Request,
  shape: ErrorShape = loadBalancerErrorShape,
): Promise<Response> {
  await discardBody(request);
  const { code, message, details } = explain(error);
  const { body, headers: extra } = shape(code, message);
  const headers = new Headers(extra);
  if (details.workerId) headers.set(AFFINITY_HEADER, details.workerId);
  if (details.retryAfterSeconds !== undefined) headers.set("Retry-After", `${details.retryAfterSeconds}`);
  return Response.json(body, { status: ERROR_STATUS[code], headers });
}

function explain(error: unknown): LoadBalancerError {
  if (error instanceof LoadBalancerError) return error;
  if (error instanceof ApiError) return new LoadBalancerError(error.code, error.message);
  if (error instanceof RateLimitedError) {
    const { message, retryAfterSeconds } = error;
    return new LoadBalancerError("rate_limited", message, { retryAfterSeconds });
  }
  if (hasFlag(error, "overloaded")) {
    const message = "The endpoint is overloaded. Try again in a second.";
    return new LoadBalancerError("rate_limited", message, { retryAfterSeconds: 1 });
  }
  if (hasFlag(error, "durableObjectReset")) {
    return new LoadBalancerError(
      "worker_failed",
      "The way to the worker was cut, since the edge was restarted. Whether the worker has done anything is not known.",
    );
  }
  logFailure("request_failed", { path: "/lb" }, error);
  return new LoadBalancerError(
    "internal",
    "Something went wrong on our side. Try again; if it stays, see the logs.",
  );
}

/** The runtime marks the errors that it throws itself. */
function hasFlag(error: unknown, flag: "overloaded" | "durableObjectReset"): boolean {
  return error instanceof Error && Reflect.get(error, flag) === true;
}
