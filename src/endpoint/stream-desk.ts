/** Streams for their readers: chunks drained by polls, or read on from a position. */
import { isFinal } from "../domain/job-machine.ts";
import { wireStatusOf, type JobView } from "../domain/job-view.ts";
import type { GroupCommit } from "../durable/group-commit.ts";
import type { Waiters } from "../durable/waiters.ts";
import type { ChunkStore } from "./chunk-store.ts";
import type { EndpointFacts } from "./endpoint-facts.ts";
import { findJob, isUnderway } from "./job-reference.ts";
import type { StoredJob } from "./job-store.ts";
import type { DrainOutcome, DrainReply, ReadStreamOutcome, ReadStreamReply } from "./messages.ts";
import type { Queue } from "./queue.ts";
import type { RequestLimits } from "./request-limits.ts";

export type StreamDeskParts = {
  readonly facts: EndpointFacts;
  readonly queue: Queue;
  readonly chunks: ChunkStore;
  readonly limits: RequestLimits;
  readonly commit: GroupCommit;
  readonly waiters: Waiters<number, "look">;
  readonly view: (stored: StoredJob) => JobView;
};

export class StreamDesk {
  readonly #parts: StreamDeskParts;

  constructor(parts: StreamDeskParts) {
    this.#parts = parts;
  }

  /**
   * Hands out the chunks that no earlier call got; waits a moment for some when asked to. Only the first
   * look of a request counts to its limit.
   */
  async drain(jobId: string, holdMs: number, isFirstLook: boolean): Promise<DrainReply> {
    const look = () => this.#drainNow(jobId, holdMs);
    if (isFirstLook) return this.#parts.limits.admit<DrainOutcome>("stream", Date.now(), look);
    return { ...(await look()), quota: null };
  }

  /** Chunks beyond a position, in batches, without touching what is drained. */
  async read(
    jobId: string,
    position: number,
    holdMs: number,
    isFirstLook: boolean,
  ): Promise<ReadStreamReply> {
    const look = () => this.#readNow(jobId, position, holdMs);
    if (isFirstLook) return this.#parts.limits.admit<ReadStreamOutcome>("stream", Date.now(), look);
    return { ...(await look()), quota: null };
  }

  async #drainNow(jobId: string, holdMs: number): Promise<DrainOutcome> {
    const { queue, chunks, commit } = this.#parts;
    const stored = await this.#awaitChunks(jobId, holdMs, (seq) => chunks.cursorOf(seq));
    if (!stored) return NOT_FOUND;
    const cursor = chunks.cursorOf(stored.seq);
    if (chunks.endOf(stored.seq) <= cursor) return drained(stored, { runs: [], position: cursor });
    return commit.run(() => {
      const latest = findJob(queue, jobId, Date.now());
      return latest ? drained(latest, chunks.drain(latest.seq)) : NOT_FOUND;
    });
  }

  async #readNow(jobId: string, position: number, holdMs: number): Promise<ReadStreamOutcome> {
    const stored = await this.#awaitChunks(jobId, holdMs, () => position);
    if (!stored) return NOT_FOUND;
    const runs = this.#parts.chunks.after(stored.seq, position);
    return { kind: "found", view: this.#parts.view(stored), isFinal: isFinal(stored.job.state), runs };
  }

  /** The job, after a moment in which chunks may have come if there are none beyond the position yet. */
  async #awaitChunks(
    jobId: string,
    wishedMs: number,
    positionOf: (seq: number) => number,
  ): Promise<StoredJob | undefined> {
    const { facts, queue, chunks, waiters } = this.#parts;
    const now = Date.now();
    const stored = findJob(queue, jobId, now);
    const holdMs = facts.holdMs(wishedMs, now);
    if (!isUnderway(stored) || holdMs === 0) return stored;
    if (chunks.endOf(stored.seq) > positionOf(stored.seq)) return stored;
    await waiters.wait(stored.seq, holdMs);
    return findJob(queue, jobId, Date.now());
  }
}

type Drained = Extract<DrainOutcome, { kind: "found" }>;

const NOT_FOUND = { kind: "not_found" } as const;

function drained({ job }: StoredJob, chunks: Pick<Drained, "runs" | "position">): DrainOutcome {
  return { kind: "found", status: wireStatusOf(job.state), isFinal: isFinal(job.state), ...chunks };
}
