/** What a stream is to the link that carries it. */
import type { Frame } from "../link/link-frame.ts";
import { FLAG_END, FRAME, NO_PAYLOAD } from "../link/link-frame.ts";
import type { Reset, ResetReason } from "../link/link-messages.ts";
import { encodeJson } from "../link/link-messages.ts";

export type StreamFrame = Omit<Frame, "stream">;

/** complete: both sides have ended. returned: the worker never had it, and another one may get it. */
export type StreamEnd = ResetReason | "complete" | "returned";

/** What a stream uses of its link. */
export type StreamPort = {
  /** Its number on the link. */
  readonly id: number;
  /** Another stream replaces it under the same number. */
  readonly become: (stream: Stream) => void;
  readonly send: (...frames: readonly StreamFrame[]) => void;
  /** To be called once: the stream is over. */
  readonly end: (end: StreamEnd) => void;
};

export type Stream = {
  readonly requestId: string;
  readonly workerId: string;
  /** A client waits for its answer, so the silence of its agent matters. */
  readonly isAwaited: boolean;
  /** Takes a frame of the agent; returns what is wrong with it. */
  take(frame: Frame): string | undefined;
  /** The message that contained its frames has been read completely. */
  settle(): void;
  /** Its caller would have ended it before, so it is gone. */
  isOverdue(now: number): boolean;
  /** Ends it early, on both sides. */
  break(reset: Reset): void;
};

export function resetFrame(reset: Reset): StreamFrame {
  return { type: FRAME.RESET, flags: 0, payload: encodeJson(reset) };
}

/** Nothing follows. */
export const END_OF_STREAM: StreamFrame = { type: FRAME.DATA, flags: FLAG_END, payload: NO_PAYLOAD };
