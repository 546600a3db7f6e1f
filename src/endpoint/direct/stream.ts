/** What a stream is to the link that carries it. */
import type { Frame } from "../../contract/link-frame.ts";
import { FRAME, NO_PAYLOAD } from "../../contract/link-frame.ts";
import type { Reset } from "../../contract/link-messages.ts";
import { encodeJson } from "../../durable/json-bytes.ts";

export type StreamFrame = Omit<Frame, "stream">;

/** The way out of a stream. */
export type StreamPort = {
  readonly send: (...frames: readonly StreamFrame[]) => void;
  /** To be called once: the stream is over. */
  readonly end: () => void;
};

export type Stream = {
  readonly requestId: string;
  readonly workerId: string;
  /** Somebody waits for its answer, so the silence of its agent matters. */
  readonly isAwaited: boolean;
  /** Takes what the agent sent; returns what is wrong with it. */
  take(frame: Frame): string | undefined;
  /** The message that held its frames has been read to its end. */
  settle(): void;
  /** Ends it early, on both sides. */
  break(reset: Reset): void;
};

export function resetFrame(reset: Reset): StreamFrame {
  return { type: FRAME.RESET, flags: 0, payload: encodeJson(reset) };
}

export function emptyFrame(type: StreamFrame["type"], flags: number): StreamFrame {
  return { type, flags, payload: NO_PAYLOAD };
}
