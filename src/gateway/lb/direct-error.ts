/** Errors of load-balanced endpoints: the shape of the queue API and, as their clients know it, the status. */
import { RateLimitedError } from "../../auth/request-rates.ts";
import { ERROR_STATUS, errorBody, type DirectErrorBody, type ErrorCode } from "../../contract/errors.ts";
import { logFailure } from "../../failure-log.ts";
import { ApiError } from "../api-error.ts";
import { discardBody } from "../../durable/discarded-body.ts";
import { AFFINITY_HEADER } from "./passing-headers.ts";

type Known = { readonly workerId?: string | null; readonly retryAfterSeconds?: number };

/** Says more than its code: which worker it was, and when to try again. */
export class DirectError extends ApiError {
  readonly known: Known;

  constructor(code: ErrorCode, message: string, known: Known = {}) {
    super(code, message);
    this.known = known;
  }
}

/** An error as a kind of client knows it. */
export type ErrorShape = (
  code: ErrorCode,
  message: string,
) => { readonly body: object; readonly headers?: Readonly<Record<string, string>> };

/** For these endpoints' own clients. */
export function directErrorShape(code: ErrorCode, message: string): { readonly body: DirectErrorBody } {
  return { body: { ...errorBody(code, message), status: ERROR_STATUS[code] } };
}

/** Turns whatever was thrown into an answer; nothing of an unexpected error leaves the house. */
export async function renderDirectError(
  error: unknown,
  request: Request,
  shape: ErrorShape = directErrorShape,
): Promise<Response> {
  await discardBody(request);
  const { code, message, known } = explain(error);
  const { body, headers: advice } = shape(code, message);
  const headers = new Headers(advice);
  if (known.workerId) headers.set(AFFINITY_HEADER, known.workerId);
  if (known.retryAfterSeconds !== undefined) headers.set("Retry-After", `${known.retryAfterSeconds}`);
  return Response.json(body, { status: ERROR_STATUS[code], headers });
}

function explain(error: unknown): DirectError {
  if (error instanceof DirectError) return error;
  if (error instanceof ApiError) return new DirectError(error.code, error.message);
  if (error instanceof RateLimitedError) {
    const { message, retryAfterSeconds } = error;
    return new DirectError("rate_limited", message, { retryAfterSeconds });
  }
  if (isMarked(error, "overloaded")) {
    const message = "The endpoint is overloaded. Try again in a second.";
    return new DirectError("rate_limited", message, { retryAfterSeconds: 1 });
  }
  if (isMarked(error, "durableObjectReset")) {
    return new DirectError(
      "worker_failed",
      "The way to the worker was cut, since the edge was restarted. Whether the worker has done anything is not known.",
    );
  }
  logFailure("request_failed", { path: "/lb" }, error);
  return new DirectError(
    "internal",
    "Something went wrong on our side. Try again; if it stays, see the logs.",
  );
}

/** The runtime marks the errors that it throws itself. */
function isMarked(error: unknown, mark: "overloaded" | "durableObjectReset"): boolean {
  return error instanceof Error && Reflect.get(error, mark) === true;
}
