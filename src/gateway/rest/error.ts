/** Errors of REST v1: whatever was thrown becomes the one JSON shape that its clients read. */
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { RateLimitedError } from "../../auth/request-rates.ts";
import { ERROR_STATUS } from "../../contract/errors.ts";
import type { RestError } from "../../contract/rest/rest.ts";
import { logFailure } from "../../failure-log.ts";
import { OperationError, type OperationErrorCode } from "../../management/errors.ts";
import { ApiError } from "../api-error.ts";
import { discardBody } from "../../durable/discarded-body.ts";

/** Clients try again after 5xx, so nothing that stays as it is may have one; 403 means a dead key to some. */
const STATUS = {
  UNAUTHORIZED: 401,
  INSUFFICIENT_PERMISSION: 401,
  BAD_REQUEST: 400,
  PAYLOAD_TOO_LARGE: 413,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 404,
  GRAPHQL_PARSE_FAILED: 400,
  GRAPHQL_VALIDATION_FAILED: 400,
  INVALID_INPUT: 400,
  ENDPOINT_NOT_FOUND: 404,
  ENDPOINT_HAS_WORKERS: 400,
  ENDPOINT_NAME_TAKEN: 400,
  TEMPLATE_NOT_FOUND: 404,
  TEMPLATE_NAME_TAKEN: 400,
  TEMPLATE_IN_USE: 400,
  SECRET_NOT_FOUND: 404,
  SECRET_NAME_TAKEN: 400,
  REGISTRY_AUTH_NOT_FOUND: 404,
  REGISTRY_AUTH_IN_USE: 400,
  NETWORK_VOLUME_NOT_FOUND: 404,
  NETWORK_VOLUME_IN_USE: 400,
  API_KEY_NOT_FOUND: 404,
  HOST_NOT_FOUND: 404,
  JOIN_TOKEN_NOT_FOUND: 404,
  POD_NOT_FOUND: 404,
  APP_NOT_FOUND: 404,
  APP_NAME_TAKEN: 400,
  APP_IN_USE: 400,
  FLASH_ENVIRONMENT_NOT_FOUND: 404,
  FLASH_ENVIRONMENT_NAME_TAKEN: 400,
  FLASH_BUILD_NOT_FOUND: 404,
  ARTIFACT_NOT_FOUND: 404,
  "Cluster not found": 404,
  LIMIT_REACHED: 400,
  RATE_LIMITED: 429,
  NO_CAPACITY: 503,
  NOT_CONFIGURED: 503,
  NOT_SUPPORTED: 400,
  UNAVAILABLE: 503,
  INTERNAL: 500,
} as const satisfies Record<OperationErrorCode, number>;

type RestStatus = (typeof STATUS)[OperationErrorCode] | (typeof ERROR_STATUS)[keyof typeof ERROR_STATUS];

export async function renderRestError(error: Error, context: Context): Promise<Response> {
  await discardBody(context.req.raw);
  if (error instanceof OperationError) {
    return restError(context, STATUS[error.code], error.code.toLowerCase(), error.message);
  }
  if (error instanceof ApiError) {
    return restError(context, ERROR_STATUS[error.code], error.code, error.message);
  }
  if (error instanceof RateLimitedError) {
    context.header("Retry-After", `${error.retryAfterSeconds}`);
    return restError(context, 429, "rate_limited", error.message);
  }
  logFailure("request_failed", { path: context.req.path }, error);
  return restError(context, 500, "internal", "Internal server error. Please try again later.");
}

function restError(context: Context, status: RestStatus, code: string, message: string): Response {
  return context.json(
    { error: message, message, status, code } satisfies RestError,
    status as ContentfulStatusCode,
  );
}
