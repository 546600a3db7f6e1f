/** Errors that callers of objects get. */

import { CONNECTION_LOST, injectedMessage } from "./injected.ts";

const RESET = injectedMessage("The Durable Object was reset.");

/** The runtime resets an object: by `abort()`, for an error, or for other code. */
export function resetBy(cause: unknown = RESET): Error {
  const error = new Error(cause instanceof Error ? cause.message : String(cause));
  if (cause instanceof Error) error.name = cause.name;
  return Object.assign(error, { durableObjectReset: true });
}

/** The machine of an object is lost. */
export function lostConnection(): Error {
  return new Error(CONNECTION_LOST);
}

export function isReset(error: Error): boolean {
  return Reflect.get(error, "durableObjectReset") === true;
}

/** What reaches a caller of an error of another isolate: all but its class. */
export function remoteError(error: unknown): Error {
  const copy = new Error(error instanceof Error ? error.message : String(error));
  if (!(error instanceof Error)) return Object.assign(copy, { remote: true });
  const { name } = error;
  return Object.assign(copy, Object.fromEntries(Object.entries(error)), { name, remote: true });
}
