/** A worker's answer on its way to the edge: read only as fast as the edge takes it. */
import type { IncomingMessage } from "node:http";
import { FRAME, LINK_FRAME_MAX_BYTES } from "../../src/link/link-frame.ts";
import type { Channel } from "./channel.ts";
import { responseHead } from "./message-headers.ts";
import { headFailure, workerFailure } from "./worker-failure.ts";

/** Passes the answer on. False when it is none that can be. */
export function forwardResponse(response: IncomingMessage, channel: Channel, port: number): boolean {
  const head = responseHead(response);
  if (!head) {
    channel.fail("worker_failed", headFailure(port));
    return false;
  }
  channel.head(head, isSmall(response));
  channel.onDrain = () => response.resume();
  response.on("data", (bytes: Buffer) => {
    channel.send(FRAME.DATA, bytes);
    if (channel.isFull) response.pause();
  });
  response.on("end", () => channel.end());
  response.on("error", (error) => channel.fail("worker_failed", workerFailure(error, port, true)));
  return true;
}

function isSmall(response: IncomingMessage): boolean {
  const length = response.headers["content-length"];
  return length !== undefined && Number(length) <= LINK_FRAME_MAX_BYTES;
}
