/** Says in one sentence what went wrong between the agent and a worker's server. */
const BROKEN = new Set(["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE", "ERR_STREAM_DESTROYED"]);

export function workerFailure(error: Error, port: number, hasAnswered = false): string {
  const code = codeOf(error);
  if (code === "ECONNREFUSED")
    return `The worker refused the connection: nothing listens on its port ${port}.`;
  if (code === "HPE_HEADER_OVERFLOW") return headFailure(port);
  if (code.startsWith("HPE_")) return `The worker's answer on port ${port} is not HTTP: ${error.message}.`;
  if (hasAnswered) return `The worker broke off in the middle of its answer on port ${port}.`;
  if (isBroken(error)) return `The worker closed the connection on port ${port} before it answered.`;
  return `The worker cannot be reached on port ${port}: ${error.message}.`;
}

export function headFailure(port: number): string {
  return `The head of the worker's answer on port ${port} is too large, or none that can be passed on.`;
}

/** The other end closed the connection, as it may with one that was kept for the next request. */
export function isBroken(error: Error): boolean {
  return BROKEN.has(codeOf(error));
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}
