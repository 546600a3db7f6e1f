/** Streams of jobs: chunks drained by polls, or read from a position on. */
import type { JobView } from "../../contract/job.ts";
import { isFinal, type Payload } from "../../domain/jobs/job-machine.ts";
import { wireStatusOf } from "../../domain/jobs/job-view.ts";
import type { GroupCommit } from "../../durable/group-commit.ts";
import type { ChunkStore } from "./chunk-store.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import { isUnderway, type QueueEntry } from "../queue/job-store.ts";
import type { DrainOutcome, Limited, ReadStreamOutcome, SlotRef } from "../messages.ts";
import type { Queue } from "../queue/queue.ts";
import type { RequestLimits, RequestSlot } from "../limits/request-limits.ts";

export type StreamHandlersParts = {
  readonly facts: EndpointFacts;
  readonly queue: Queue;
  readonly chunks: ChunkStore;
  readonly limits: RequestLimits;
  readonly commit: GroupCommit;
  readonly notifier: StreamNotifier;
  readonly jobs: { readonly view: (stored: QueueEntry) => JobView<Payload | null> };
};

/** Notifies readers of streams: calls inside the object, and those on wake-up channels. */
type StreamNotifier = {
  readonly wait: (topic: "stream", seq: number, holdMs: number) => Promise<void>;
  readonly open: (
    topic: "stream",
    query: URLSearchParams,
    seq: number | undefined,
    isWaiting: boolean,
    now: number,
  ) => Response;
};

export class StreamHandlers {
  readonly #parts: StreamHandlersParts;

  constructor(parts: StreamHandlersParts) {
    this.#parts = parts;
  }

  /**
   * The chunks that no earlier call got; waits up to `holdMs` for some. A caller that has waited before brings back the
   * slot that it got.
   */
  drain(jobId: string, holdMs: number, continuedSlot: SlotRef | null): Promise<Limited<DrainOutcome>> {
    return this.#admit<DrainOutcome>(continuedSlot, (slot) => this.#drainNow(jobId, holdMs, slot));
  }

  /** Chunks after a position, in batches; drains nothing, and all reads of a stream are one request. */
  read(
    jobId: string,
    position: number,
    holdMs: number,
    continuedSlot: SlotRef | null,
  ): Promise<Limited<ReadStreamOutcome>> {
    return this.#admit<ReadStreamOutcome>(continuedSlot, (slot) =>
      this.#readNow(jobId, position, holdMs, slot),
    );
  }

  /** Opens the wake-up channel of `?stream=…&after=…`, on which a client waits for chunks. */
  openChannel(query: URLSearchParams, now: number): Response {
    const { queue, chunks, notifier } = this.#parts;
    const stored = queue.find(query.get("stream") ?? "", now);
    const isQuiet = isUnderway(stored) && chunks.endOf(stored.seq) <= Number(query.get("after"));
    return notifier.open("stream", query, stored?.seq, isQuiet, now);
  }

  #admit<Outcome extends object>(
    continuedSlot: SlotRef | null,
    read: (slot: RequestSlot) => Promise<Outcome>,
  ): Promise<Limited<Outcome>> {
    const { limits } = this.#parts;
    return continuedSlot ? limits.resume(continuedSlot, read) : limits.admit("stream", Date.now(), read);
  }

  async #drainNow(jobId: string, holdMs: number, slot: RequestSlot): Promise<DrainOutcome> {
    const { chunks } = this.#parts;
    const stored = await this.#awaitChunks(jobId, holdMs, (seq) => chunks.cursorOf(seq));
    if (!stored) return NOT_FOUND;
    const cursor = chunks.cursorOf(stored.seq);
    const isEmpty = chunks.endOf(stored.seq) <= cursor;
    const outcome = isEmpty
      ? drained(stored, { runs: [], position: cursor })
      : await this.#drainInTurn(jobId);
    const isWaiting = outcome.kind === "found" && outcome.runs.length === 0 && !outcome.isFinal;
    return isWaiting && holdMs > 0 ? { ...outcome, slot: slot.keep(Date.now()) } : outcome;
  }

  #drainInTurn(jobId: string): Promise<DrainOutcome> {
    const { queue, chunks, commit } = this.#parts;
    return commit.run(() => {
      const latest = queue.find(jobId, Date.now());
      return latest ? drained(latest, chunks.drain(latest.seq)) : NOT_FOUND;
    });
  }

  async #readNow(
    jobId: string,
    position: number,
    holdMs: number,
    slot: RequestSlot,
  ): Promise<ReadStreamOutcome> {
    const stored = await this.#awaitChunks(jobId, holdMs, () => position);
    if (!stored) return NOT_FOUND;
    const runs = this.#parts.chunks.after(stored.seq, position);
    const isEnded = isFinal(stored.job.state);
    const isOver = isEnded && runs.length === 0;
    const continuedSlot = isOver ? null : slot.keep(Date.now());
    const view = this.#parts.jobs.view(stored);
    return { kind: "found", view, attempt: stored.job.attempt, isFinal: isEnded, runs, slot: continuedSlot };
  }

  /** The job, after a moment in which chunks may have come if there are none after the position yet. */
  async #awaitChunks(
    jobId: string,
    requestedMs: number,
    positionOf: (seq: number) => number,
  ): Promise<QueueEntry | undefined> {
    const { facts, queue, chunks, notifier } = this.#parts;
    const now = Date.now();
    const stored = queue.find(jobId, now);
    const holdMs = facts.holdMs(requestedMs, now);
    if (!isUnderway(stored) || holdMs === 0) return stored;
    if (chunks.endOf(stored.seq) > positionOf(stored.seq)) return stored;
    await notifier.wait("stream", stored.seq, holdMs);
    return queue.find(jobId, Date.now());
  }
}

type Drained = Extract<DrainOutcome, { kind: "found" }>;

const NOT_FOUND = { kind: "not_found" } as const;

function drained({ job }: QueueEntry, chunks: Pick<Drained, "runs" | "position">): DrainOutcome {
  const slot = null;
  return { kind: "found", status: wireStatusOf(job.state), isFinal: isFinal(job.state), ...chunks, slot };
}
