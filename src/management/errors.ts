import { cutMessage } from "../contract/errors.ts";

/** The closed list of `extensions.code` in GraphQL answers. Retrying helps for the last two alone. */
export type OperationErrorCode =
  | "UNAUTHORIZED"
  | "INSUFFICIENT_PERMISSION"
  | "BAD_REQUEST"
  | "PAYLOAD_TOO_LARGE"
  | "NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "GRAPHQL_PARSE_FAILED"
  | "GRAPHQL_VALIDATION_FAILED"
  | "INVALID_INPUT"
  | "ENDPOINT_NOT_FOUND"
  | "ENDPOINT_HAS_WORKERS"
  | "ENDPOINT_NAME_TAKEN"
  | "TEMPLATE_NOT_FOUND"
  | "TEMPLATE_NAME_TAKEN"
  | "TEMPLATE_IN_USE"
  | "SECRET_NOT_FOUND"
  | "SECRET_NAME_TAKEN"
  | "REGISTRY_AUTH_NOT_FOUND"
  | "REGISTRY_AUTH_IN_USE"
  | "NETWORK_VOLUME_NOT_FOUND"
  | "NETWORK_VOLUME_IN_USE"
  | "API_KEY_NOT_FOUND"
  | "HOST_NOT_FOUND"
  | "JOIN_TOKEN_NOT_FOUND"
  | "POD_NOT_FOUND"
  | "APP_NOT_FOUND"
  | "APP_NAME_TAKEN"
  | "APP_IN_USE"
  | "FLASH_ENVIRONMENT_NOT_FOUND"
  | "FLASH_ENVIRONMENT_NAME_TAKEN"
  | "FLASH_BUILD_NOT_FOUND"
  | "ARTIFACT_NOT_FOUND"
  // A client compares the code of this one with these words.
  | "Cluster not found"
  | "LIMIT_REACHED"
  | "RATE_LIMITED"
  | "NO_CAPACITY"
  | "NOT_CONFIGURED"
  | "NOT_SUPPORTED"
  | "UNAVAILABLE"
  | "INTERNAL";

/** A refusal that a resolver throws for the caller to read; any other exception is a bug of ours. */
export class OperationError extends Error {
  override readonly name = "OperationError";
  readonly code: OperationErrorCode;

  constructor(code: OperationErrorCode, message: string) {
    super(cutMessage(message));
    this.code = code;
  }
}
