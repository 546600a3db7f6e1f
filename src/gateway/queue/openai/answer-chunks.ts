/** The chunks of one answer, all of one attempt: a second attempt would begin the answer again. */
import { CHANNEL_WAIT_MAX_MS } from "../../wake-up.ts";
import type { JobView } from "../../../contract/job.ts";
import type { Payload } from "../../../domain/jobs/job-machine.ts";
import type { SlotRef } from "../../../endpoint/messages.ts";
import type { QueueContext } from "../context.ts";
import { outputOf, StreamReader, type StreamRead } from "../streams/stream-reader.ts";
import { IN_OBJECT_WAIT_MS } from "../../../durable/waiters.ts";

export type AnswerStep =
  /** Raw JSON. */
  | { readonly kind: "chunks"; readonly outputs: readonly string[] }
  | { readonly kind: "ended"; readonly view: JobView<Payload | null> }
  | { readonly kind: "expired" }
  /** The worker that had begun the answer is gone. */
  | { readonly kind: "lost" }
  | { readonly kind: "client_gone" };

export class AnswerChunks {
  readonly #reader: StreamReader;
  /** The attempt whose chunks were returned. */
  #begunAttempt: number | null = null;

  constructor(context: QueueContext, jobId: string, slot: SlotRef | null) {
    this.#reader = new StreamReader(context, jobId, { position: 0, slot });
  }

  /** Waits for the next chunks, or for the end, after which it must not be called. */
  async next(): Promise<AnswerStep> {
    for (;;) {
      const read = await this.#reader.read(IN_OBJECT_WAIT_MS);
      const step = this.#interpret(read);
      if (step === "again") continue;
      if (step !== "nothing") return step;
      await this.#reader.awaitMore(Date.now() + CHANNEL_WAIT_MAX_MS);
      if (this.#reader.isClientGone) return { kind: "client_gone" };
    }
  }

  #interpret(read: StreamRead): AnswerStep | "again" | "nothing" {
    if (read.kind === "not_found") return { kind: "expired" };
    const { view, attempt, isFinal } = read;
    const isQueued = view.status === "IN_QUEUE";
    if (this.#begunAttempt !== null && (isQueued || attempt !== this.#begunAttempt)) return { kind: "lost" };
    const chunks = this.#reader.take(read.runs);
    // Chunks of a lost attempt stay until a newer one yields.
    const current = isQueued ? [] : chunks.filter((chunk) => chunk.attempt === attempt);
    if (current.length > 0) {
      this.#begunAttempt = attempt;
      return { kind: "chunks", outputs: current.map(outputOf) };
    }
    if (chunks.length > 0) return "again";
    return isFinal ? { kind: "ended", view } : "nothing";
  }
}
