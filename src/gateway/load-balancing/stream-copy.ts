/** Copies an answer from the endpoint's object to the client as the worker sends it. */
import { ignoreFailure } from "../../std/errors.ts";

/** Most chunks fit, and a large answer needs few reads. */
const PIECE_BYTES = 64 * 1024;

export type Watch = {
  readonly limitMs: number;
  /**
   * Ends the request. The writer of the source notices a missing reader only at its next chunk, which may never
   * come.
   */
  readonly giveUp: (reason: "aborted" | "timeout") => void;
};

/**
 * Copies the source as fast as the client reads it. An error on one side ends the other, and so does a source that is
 * silent for the limit.
 */
export async function copyStream(
  source: ReadableStream<Uint8Array>,
  writable: WritableStream<Uint8Array>,
  { limitMs, giveUp }: Watch,
): Promise<void> {
  const reader = source.getReader({ mode: "byob" });
  const writer = writable.getWriter();
  const silence = new IdleTimer(limitMs, () => {
    giveUp("timeout");
    void reader.cancel().catch(ignoreFailure);
  });
  try {
    let buffer = new Uint8Array(PIECE_BYTES);
    for (;;) {
      silence.begin();
      const { done, value } = await reader.read(buffer);
      silence.end();
      if (done) break;
      await writer.write(value).catch((error: unknown) => {
        giveUp("aborted");
        throw error;
      });
      buffer = new Uint8Array(value.buffer);
    }
    if (silence.isBroken) throw new Error("The worker fell silent.");
    await writer.close();
  } catch (error) {
    await Promise.allSettled([reader.cancel(error), writer.abort(error)]);
  } finally {
    silence.stop();
  }
}

/** Watches over waits with one timer, however many there are. */
class IdleTimer {
  readonly #limitMs: number;
  readonly #onBroken: () => void;
  #since: number | null = null;
  #timer: ReturnType<typeof setTimeout>;
  isBroken = false;

  constructor(limitMs: number, onBroken: () => void) {
    this.#limitMs = limitMs;
    this.#onBroken = onBroken;
    this.#timer = this.#check(limitMs);
  }

  begin(): void {
    this.#since = Date.now();
  }

  end(): void {
    this.#since = null;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #check(afterMs: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      const leftMs = this.#limitMs - (this.#since === null ? 0 : Date.now() - this.#since);
      if (leftMs > 0) {
        this.#timer = this.#check(leftMs);
        return;
      }
      this.isBroken = true;
      this.#onBroken();
    }, afterMs);
  }
}
