import type { Frame } from "../../src/link/link-frame.ts";
import type { RequestHead } from "../../src/link/link-messages.ts";
import type { Channel } from "./channel.ts";
import type { Admission } from "./admission.ts";
import type { BufferedMessages } from "./message-buffer.ts";

/** A request that came on a link, and where it goes. */
export type ForwardedRequest = {
  readonly channel: Channel;
  readonly admission: Admission;
  readonly head: RequestHead;
  readonly buffered: BufferedMessages;
  /** The connection to the worker has failed, or was not even made. */
  readonly connectionFailed: () => void;
  readonly connectionRefused: () => void;
};

/** One stream of a link that is forwarded to a worker. */
export type LinkStream = {
  readonly kind: "http" | "websocket";
  /** A frame with something for the worker. */
  receive(frame: Frame): void;
  /** The edge ended the stream, or the link broke: the worker sees its client disconnect. */
  abort(): void;
};
