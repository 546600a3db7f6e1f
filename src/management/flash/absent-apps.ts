/** The truth about the login in the browser for as long as none is offered. */
import { OperationError } from "../operation-error.ts";

export function loginNotSupported(): OperationError {
  return new OperationError(
    "NOT_SUPPORTED",
    "This installation offers no login in the browser yet. Give the client an API key instead.",
  );
}
