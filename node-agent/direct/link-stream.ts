import type { Frame } from "../../src/contract/link-frame.ts";

/** What a session of a link asks of whoever forwards one of its streams to a worker. */
export type LinkStream = {
  readonly kind: "http" | "websocket";
  /** A frame with something for the worker. */
  receive(frame: Frame): void;
  /** Nothing follows of the edge. */
  receivedEnd(): void;
  /** The edge ended the stream, or the link is gone: the worker sees that its client is. */
  cut(): void;
};
