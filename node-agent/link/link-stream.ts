import type { Frame, OpenTarget } from "../../src/link/link-frame.ts";
import type { RequestHead, ResetReason } from "../../src/link/link-messages.ts";
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

/** What the edge asks for when it opens a stream. */
export type OpenedStream = {
  readonly target: OpenTarget;
  /** Not checked. */
  readonly head: unknown;
  /** Frames with a body follow. */
  readonly hasBody: boolean;
  readonly channel: Channel;
  /** Ends the stream with a reason, a message for users. */
  readonly end: (reason: ResetReason, detail: string) => void;
};

/** Knows what the streams of a link are for. */
export type StreamOpener = {
  /** Null for a stream that it has refused. */
  open(opened: OpenedStream): LinkStream | null;
};

/** One stream of a link that is forwarded to a worker. */
export type LinkStream = {
  /** The edge waits for its answer, so the silence of this agent would matter. */
  readonly isAwaited: boolean;
  /** A frame with something for the worker. */
  receive(frame: Frame): void;
  /** The edge ended the stream, or the link broke: the worker sees its client disconnect. */
  abort(): void;
};
