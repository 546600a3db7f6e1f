/** The closed list of `extensions.code` in GraphQL answers. Retrying helps for the last two alone. */
export type OperationErrorCode =
  | "UNAUTHORIZED"
  | "BAD_REQUEST"
  | "PAYLOAD_TOO_LARGE"
  | "METHOD_NOT_ALLOWED"
  | "GRAPHQL_PARSE_FAILED"
  | "GRAPHQL_VALIDATION_FAILED"
  | "INVALID_INPUT"
  | "ENDPOINT_NOT_FOUND"
  | "ENDPOINT_HAS_WORKERS"
  | "TEMPLATE_NOT_FOUND"
  | "TEMPLATE_NAME_TAKEN"
  | "TEMPLATE_IN_USE"
  | "UNAVAILABLE"
  | "INTERNAL";

/** A refusal that a resolver throws for the caller to read; any other exception is a bug of ours. */
export class OperationError extends Error {
  override readonly name = "OperationError";
  readonly code: OperationErrorCode;

  constructor(code: OperationErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
