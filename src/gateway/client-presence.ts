/** Requests whose client may leave while they wait. */
import { ServiceError } from "../contract/errors.ts";

const CLIENT_GONE = new ServiceError(
  "worker_failed",
  "The client has gone before its request was passed on.",
);

/** Throws when the client has gone: the signal of its request says so only once, perhaps before anybody listened. */
export function requireClient(signal: AbortSignal): void {
  if (signal.aborted) throw CLIENT_GONE;
}
