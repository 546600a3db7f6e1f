/** What went wrong between the agent and a worker's server. */
import { errorCode } from "../../src/std/errors.ts";
import { type Admission, nounOf } from "./admission.ts";
import type { ForwardedRequest } from "./link-stream.ts";
import type { IncomingMessage } from "node:http";
import { FRAME, LINK_FRAME_MAX_BYTES } from "../../src/link/link-frame.ts";
import type { Channel } from "./channel.ts";
import { responseHead } from "./message-headers.ts";

type Server = Pick<Admission, "port" | "isOnly">;

const BROKEN = new Set(["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE", "ERR_STREAM_DESTROYED"]);

/** Ends a request whose connection to the worker has failed; one that did not reach a worker may go to another. */
export function failRequest(
  error: Error,
  request: Omit<ForwardedRequest, "head">,
  hasAnswered = false,
): void {
  const { channel, admission, connectionFailed, connectionRefused } = request;
  const detail = workerFailure(error, admission, hasAnswered);
  if (!isUnreached(error) || admission.isOnly) {
    channel.fail("worker_failed", detail);
    return connectionFailed();
  }
  connectionRefused(); // first, or the edge would choose the worker again
  channel.fail("worker_gone", detail);
}

/** Describes the failure in one sentence. */
function workerFailure(error: Error, admission: Server, hasAnswered = false): string {
  const code = errorCode(error) ?? "";
  const { port } = admission;
  const who = `The ${nounOf(admission)}`;
  if (code === "ECONNREFUSED") return `${who} refused the connection: nothing listens on its port ${port}.`;
  if (code === "HPE_HEADER_OVERFLOW") return headFailure(admission);
  if (code.startsWith("HPE_")) return `${who}'s answer on port ${port} is not HTTP: ${error.message}.`;
  if (hasAnswered) return `${who} broke off in the middle of its answer on port ${port}.`;
  if (isBroken(error)) return `${who} closed the connection on port ${port} before it answered.`;
  return `${who} cannot be reached on port ${port}: ${error.message}.`;
}

export function headFailure(admission: Server): string {
  return `The head of the ${nounOf(admission)}'s answer on port ${admission.port} is too large, or none that can be passed on.`;
}

/** The other end closed the connection, as it may with an idle keep-alive connection. */
function isBroken(error: Error): boolean {
  return BROKEN.has(errorCode(error) ?? "");
}

/** There was no connection. */
function isUnreached(error: Error): boolean {
  return "syscall" in error && error.syscall === "connect";
}

/** Passes the response on. False when it is invalid. */
export function forwardResponse(response: IncomingMessage, channel: Channel, admission: Server): boolean {
  const head = responseHead(response);
  if (!head) {
    channel.fail("worker_failed", headFailure(admission));
    return false;
  }
  channel.head(head, isSmall(response));
  channel.onDrain = () => response.resume();
  response.on("data", (bytes: Buffer) => {
    channel.send(FRAME.DATA, bytes);
    if (channel.isFull) response.pause();
  });
  response.on("end", () => channel.end());
  response.on("error", (error) => channel.fail("worker_failed", workerFailure(error, admission, true)));
  return true;
}

function isSmall(response: IncomingMessage): boolean {
  const length = response.headers["content-length"];
  return length !== undefined && Number(length) <= LINK_FRAME_MAX_BYTES;
}
