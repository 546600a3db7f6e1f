/** The truth about flash apps for as long as none are offered: nobody has any. */
import { OperationError } from "../operation-error.ts";

/** Clients make an app when they read these words. */
export function appNotFound(name: string): OperationError {
  return new OperationError("APP_NOT_FOUND", `flashAppName: app not found: '${name}'`);
}

export function appsNotSupported(): OperationError {
  return new OperationError(
    "NOT_SUPPORTED",
    "This installation offers no flash apps yet. Endpoints can be made with saveEndpoint.",
  );
}
