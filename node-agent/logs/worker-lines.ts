/**
 * Lines of one worker on their way to the edge.
 *
 * L1  Lines are buffered until the edge has stored them, up to a limit: above it the oldest are dropped and counted.
 * L2  A position in the output counts as read when the edge has stored the lines up to it, and has passed them on to
 *     those who follow: the next agent process reads on from there.
 * L3  Lines have ascending numbers from their times; read again from the same position they get the same numbers.
 */
import type { LogLine, LogSource } from "../../src/contract/agent/log.ts";
import type { OutputPlace } from "../journal/journal.ts";
import { LOG_BATCH_LINES_MAX, LOG_BATCH_MAX_BYTES } from "../../src/contract/agent/log.ts";
import { TokenBucket } from "../core/token-bucket.ts";

/** How long stored lines are buffered, to be sent once more to a new follower. */
export const LOG_OVERLAP_MS = 10_000;

/** How soon to look again for lines that are older, and were not passed on yet. */
const LOOK_AGAIN_MS = 1_000;

/** Batches of a worker that may follow each other without that interval. */
export const LOG_BATCH_BURST = 10;

/** Long-term interval between two batches of a worker, each of which is an object in R2. */
const LOG_BATCH_EVERY_MS = 60_000;

/** How long the oldest line waits for more lines to share its batch. */
export const LOG_BATCH_AFTER_MS = 2_000;

/** Lines of one worker that wait for the edge; above it the oldest are dropped. */
export const LOG_BUFFER_MAX_BYTES = 4 * 1_000_000;

type BufferedLine = {
  readonly line: LogLine;
  readonly bytes: number;
  readonly addedAt: number;
  /** Behind this line, where a part of the output ends. */
  place?: OutputPlace;
  /** Since when the edge has it. */
  storedAt?: number;
  /** The number of dropped lines that this line stands for. */
  readonly lostCount?: number;
};

export type Batch = { readonly lines: readonly LogLine[]; readonly bytes: number; readonly end: number };

/** What a line takes beside its text: a million empty ones are many, too. */
export const LINE_BYTES = 100;

export class WorkerLines {
  readonly workerId: string;
  readonly endpointId: string;
  readonly #budget: TokenBucket;
  #buffer: BufferedLine[] = [];
  /** Number of the first buffered line, counted from the beginning. */
  #begin = 0;
  #storedEnd = 0;
  #liveEnd = 0;
  /** Up to here `settled` has looked for places. */
  #settledEnd = 0;
  #isFollowed = false;
  /** Lines on their way to all followers that there are. */
  #liveUnderway: Batch | undefined;
  #bytes = 0;
  #unstoredBytes = 0;
  /** A batch that the edge may get, though some of its lines were dropped meanwhile. */
  #underway: { readonly end: number; lostCount: number } | undefined;
  readonly #lastSeq: Record<LogSource, number> = { container: 0, system: 0 };

  constructor(ids: { readonly workerId: string; readonly endpointId: string }, now: number) {
    this.workerId = ids.workerId;
    this.endpointId = ids.endpointId;
    const perSecond = 1_000 / LOG_BATCH_EVERY_MS;
    this.#budget = new TokenBucket({ perSecond, burst: LOG_BATCH_BURST }, now);
  }

  get #end(): number {
    return this.#begin + this.#buffer.length;
  }

  get isEmpty(): boolean {
    return this.#storedEnd >= this.#end;
  }

  /** Line numbers of a container continue above this. */
  resumeFrom(seq: number): void {
    this.#lastSeq.container = Math.max(this.#lastSeq.container, seq);
  }

  // Adding lines

  /** `at` in microseconds. */
  add(at: number, line: Omit<LogLine, "seq">, now: number): void {
    const seq = Math.max(at, this.#lastSeq[line.source] + 1);
    this.#lastSeq[line.source] = seq;
    const bytes = LINE_BYTES + Buffer.byteLength(line.line);
    this.#buffer.push({ line: { ...line, seq }, bytes, addedAt: now });
    this.#bytes += bytes;
    this.#unstoredBytes += bytes;
    if (this.#bytes > LOG_BUFFER_MAX_BYTES) this.#shrink(now);
  }

  /** The output was read up to here, even if not all of it became lines. */
  reached(position: string): void {
    const last = this.#buffer.findLast(({ line }) => line.source === "container");
    if (last && !last.storedAt) last.place = { position, seq: last.line.seq };
  }

  /** A new output begins, in which earlier positions mean nothing. */
  clearPlaces(): void {
    for (const buffered of this.#buffer) delete buffered.place;
  }

  // Lines go

  /** When the next batch may be sent; undefined when there is nothing to send. */
  dueAt(now: number): number | undefined {
    const oldest = this.#buffer[this.#storedEnd - this.#begin];
    if (!oldest) return undefined;
    if (this.#unstoredBytes >= LOG_BATCH_MAX_BYTES) return now;
    return Math.max(oldest.addedAt + LOG_BATCH_AFTER_MS, now + this.#budget.waitMs(1, now));
  }

  nextBatch(now: number): Batch {
    this.#budget.take(1, now);
    const batch = this.#batchFrom(this.#storedEnd);
    this.#underway = { end: batch.end, lostCount: 0 };
    return batch;
  }

  /** The edge does not have the lines of the last batch. */
  failed(now: number): void {
    const lostCount = this.#underway?.lostCount ?? 0;
    this.#underway = undefined;
    if (lostCount > 0) this.#addLossNotice(lostCount, now);
  }

  /** The edge has the lines of a batch. */
  markStored({ end }: Batch, now: number): void {
    this.#underway = undefined;
    for (; this.#storedEnd < end; this.#storedEnd += 1) {
      const buffered = this.#buffer[this.#storedEnd - this.#begin];
      if (!buffered) continue;
      buffered.storedAt = now;
      this.#unstoredBytes -= buffered.bytes;
    }
  }

  /** L2: the place up to which the output need not be read again, if it is another one than before. */
  settled(now: number): OutputPlace | undefined {
    let place: OutputPlace | undefined;
    for (; this.#settledEnd < this.#deliveredEnd; this.#settledEnd += 1)
      place = this.#buffer[this.#settledEnd - this.#begin]?.place ?? place;
    this.#trim(now);
    return place;
  }

  /** The edge has stored the lines before this one, and has passed them on. */
  get #deliveredEnd(): number {
    return this.#isFollowed ? Math.min(this.#storedEnd, this.#liveEnd) : this.#storedEnd;
  }

  /** Lines that followers have not got yet. */
  nextLive(): Batch {
    this.#liveUnderway = this.#batchFrom(Math.max(this.#liveEnd, this.#begin));
    return this.#liveUnderway;
  }

  /** Followers have the lines; one that began meanwhile gets them once more. */
  sentLive(batch: Batch): void {
    if (batch === this.#liveUnderway) this.#liveEnd = Math.max(this.#liveEnd, batch.end);
  }

  /** A new follower gets the buffered lines, and those that were stored a moment ago. */
  beginLive(now: number): void {
    this.#trim(now);
    this.#isFollowed = true;
    this.#liveEnd = this.#begin;
    this.#liveUnderway = undefined;
  }

  /** Nobody follows any more. */
  endLive(): void {
    this.#isFollowed = false;
  }

  /** For how long the stored lines are still buffered, for new followers. */
  overlapMs(now: number): number {
    this.#trim(now);
    const stored = this.#buffer.flatMap(({ storedAt }) => storedAt ?? []);
    if (stored.length === 0) return 0;
    const latest = stored.reduce((one, other) => Math.max(one, other));
    // Those that could not be passed on yet are older.
    return Math.max(LOOK_AGAIN_MS, latest + LOG_OVERLAP_MS + 1 - now);
  }

  #batchFrom(begin: number): Batch {
    const lines: LogLine[] = [];
    let bytes = 0;
    for (const buffered of this.#buffer.slice(
      begin - this.#begin,
      begin - this.#begin + LOG_BATCH_LINES_MAX,
    )) {
      if (lines.length > 0 && bytes + buffered.bytes > LOG_BATCH_MAX_BYTES) break;
      lines.push(buffered.line);
      bytes += buffered.bytes;
    }
    return { lines, bytes, end: begin + lines.length };
  }

  // Bounds

  #trim(now: number): void {
    // Where the clock was set back, a line may have been stored later than now.
    const isOver = ({ storedAt }: BufferedLine) =>
      storedAt !== undefined && (now - storedAt > LOG_OVERLAP_MS || storedAt > now);
    const delivered = this.#buffer.slice(0, this.#deliveredEnd - this.#begin);
    const first = delivered.findIndex((buffered) => !isOver(buffered));
    this.#remove(first < 0 ? delivered.length : first);
  }

  /** L1: a quarter at a time, so that the next line does not do it again. */
  #shrink(now: number): void {
    let [count, bytes] = [0, 0];
    for (const buffered of this.#buffer) {
      if (bytes >= LOG_BUFFER_MAX_BYTES / 4) break;
      bytes += buffered.bytes;
      count += 1;
    }
    let lostCount = 0;
    for (const [index, buffered] of this.#buffer.slice(0, count).entries()) {
      if (buffered.storedAt !== undefined) continue;
      this.#unstoredBytes -= buffered.bytes;
      const lost = buffered.lostCount ?? 1;
      if (this.#underway && this.#begin + index < this.#underway.end) this.#underway.lostCount += lost;
      else lostCount += lost;
    }
    this.#remove(count);
    if (lostCount > 0) this.#addLossNotice(lostCount, now);
  }

  #addLossNotice(lostCount: number, now: number): void {
    const text = `${lostCount} lines were dropped here: the edge could not be reached.`;
    const [oldest] = this.#buffer;
    const seq = (oldest?.line.seq ?? now * 1_000) - 1;
    const bytes = LINE_BYTES + text.length;
    const line: LogLine = { seq, source: "system", line: text };
    this.#buffer.unshift({ line, bytes, addedAt: oldest?.addedAt ?? now, lostCount });
    this.#begin -= 1;
    this.#storedEnd = this.#begin;
    this.#bytes += bytes;
    this.#unstoredBytes += bytes;
  }

  #remove(count: number): void {
    for (const { bytes } of this.#buffer.splice(0, count)) this.#bytes -= bytes;
    this.#begin += count;
    this.#storedEnd = Math.max(this.#storedEnd, this.#begin);
    this.#liveEnd = Math.max(this.#liveEnd, this.#begin);
    this.#settledEnd = Math.max(this.#settledEnd, this.#begin);
  }
}
