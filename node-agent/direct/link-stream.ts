import type { Frame } from "../../src/contract/link-frame.ts";
import type { RequestHead } from "../../src/contract/link-messages.ts";
import type { Channel } from "./channel.ts";
import type { Entry } from "./doors.ts";
import type { HeldMessages } from "./held-messages.ts";

/** A request that came on a link, and where it goes. */
export type ForwardedRequest = {
  readonly channel: Channel;
  readonly entry: Entry;
  readonly head: RequestHead;
  readonly held: HeldMessages;
  /** The connection to the worker has failed, or was not even made. */
  readonly suspect: () => void;
  readonly refused: () => void;
};

/** What a session of a link asks of whoever forwards one of its streams to a worker. */
export type LinkStream = {
  readonly kind: "http" | "websocket";
  /** A frame with something for the worker. */
  receive(frame: Frame): void;
  /** The edge ended the stream, or the link is gone: the worker sees that its client is. */
  cut(): void;
};
