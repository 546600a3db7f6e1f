/** The one error of the HTTP APIs, thrown anywhere in the gateway and rendered in one place. */
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { z } from "zod";
import { RateLimitedError } from "../auth/request-rates.ts";
import "../contract/issue-message.ts";
import { ERROR_STATUS, errorBody, type ErrorCode } from "../contract/errors.ts";
import { logFailure } from "../failure-log.ts";
import { discardBody } from "../durable/discarded-body.ts";

export class ApiError extends Error {
  readonly code: ErrorCode;

  /** `message` is one sentence for a person: what happened and what to do. */
  constructor(code: ErrorCode, message: string) {
    super(message);
    this.name = "ApiError";
    this.code = code;
  }
}

/** Turns whatever was thrown into the JSON answer; nothing of an unexpected error leaves the house. */
export async function renderError(error: Error, context: Context): Promise<Response> {
  const { code, message } = await receiveError(error, context);
  return errorResponse(context, code, message);
}

/** What of an error its client may know. Reads what is left of the request, and logs what is our fault. */
export async function receiveError(error: Error, context: Context): Promise<ApiError> {
  await discardBody(context.req.raw);
  if (error instanceof ApiError) return error;
  if (error instanceof RateLimitedError) {
    context.header("Retry-After", `${error.retryAfterSeconds}`);
    return new ApiError("rate_limited", error.message);
  }
  if (isOverloaded(error)) {
    context.header("Retry-After", "1");
    return new ApiError("rate_limited", "The endpoint is overloaded. Try again in a second.");
  }
  logFailure("request_failed", { path: context.req.path }, error);
  return new ApiError("internal", "Something went wrong on our side. Try again; if it stays, see the logs.");
}

export function errorResponse(context: Context, code: ErrorCode, message: string): Response {
  // 524 is a status of Cloudflare, which the framework's list does not have.
  return context.json(errorBody(code, message), ERROR_STATUS[code] as ContentfulStatusCode);
}

const ISSUES_MAX = 20;

/** The issues of a schema, each with the path of its member: `requests[3].policy.ttl must be at least 10000 ms`. */
export function invalidInput({ issues }: z.ZodError): ApiError {
  const described = issues.slice(0, ISSUES_MAX).map(({ path, message }) => `${pathOf(path)} ${message}`);
  return new ApiError("invalid_input", `${described.join("; ")}.`);
}

function pathOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((joined, member) => joined + pathStep(member, joined), "") || "The body";
}

function pathStep(member: PropertyKey, before: string): string {
  if (typeof member === "number") return `[${member}]`;
  return before === "" ? String(member) : `.${String(member)}`;
}

function isOverloaded(error: Error): boolean {
  return "overloaded" in error && error.overloaded === true;
}
