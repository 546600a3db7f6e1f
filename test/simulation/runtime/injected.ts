/** Errors that are faults of the simulated platform; all others are of the code under test. */

/** No code under test has these words: they stay in every copy of the message, and in what is logged of it. */
const MARK = "(a fault of the simulation)";

/** The message of an error that comes of a fault. */
export const injectedMessage = (message: string): string => `${message} ${MARK}`;

/** Connections end like this. */
export const CONNECTION_LOST = injectedMessage("Network connection lost.");

/** Whether an error, one of its causes, or a line that tells of it comes of a fault. */
export function isInjected(error: unknown): boolean {
  if (String(error).includes(MARK)) return true;
  return error instanceof Error && error.cause !== undefined && isInjected(error.cause);
}
