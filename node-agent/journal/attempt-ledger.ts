/**
 * All attempts that this host answers for, from the reply that brought them to the edge's acknowledgement.
 *
 * A1  An attempt is in the ledger before anything else happens with it.
 * A2  It has one outcome: the first report wins, later results are dropped.
 * A3  Its chunks are numbered in the order in which they arrived, and kept until the edge has them. The last one
 *     is kept longer, as the mark of the highest number.
 * A4  It is kept until its report is acknowledged, or until the edge reports that it is not wanted.
 * A5  A journal that cannot be written, as on a full disk, refuses results, which workers send again, and nothing
 *     else: what is not written is known until this process ends, and then the edge detects the loss.
 */
import { errorMessage } from "../../src/std/errors.ts";
import type {
  DispatchedJob,
  LeaseRenewal,
  RawExchangeReply,
  Upload,
} from "../../src/contract/agent/agent.ts";
import { shardOfJob } from "../../src/contract/job.ts";
import { ageMs } from "../core/timing.ts";
import type { AgentLog } from "../core/log.ts";
import type { AttemptRecord, AttemptRef, Journal, ReportRecord } from "./journal.ts";
import type { ShardRef } from "./shard-ref.ts";
import { encodeReport, withUpload, type AttemptOutcome } from "./report.ts";

/** Chunks of one attempt in their order, as JSON texts; `from` is the number of the first. */
export type ChunkRecord = AttemptRef & { readonly from: number; readonly outputs: readonly string[] };

/** A running attempt as an exchange reports it: the JSON of a LeaseRenewal without its progress, and the JSON of that. */
export type EncodedAttempt = { readonly body: string; readonly progress: string | undefined };

/** A job that the edge has dispatched to this host, with its values as JSON strings, and its attempt in the ledger. */
export type ReceivedAttempt = {
  readonly record: AttemptRecord;
  readonly job: DispatchedJob<RawExchangeReply>;
};

/** What the ledger needs to know of a job. */
type JobOutline = Pick<ReceivedAttempt["job"], "id" | "attempt" | "workerId" | "executionTimeoutMs">;

type Entry = {
  readonly record: AttemptRef;
  /** The object of its endpoint that has the job. */
  readonly shard: number;
  isSettled: boolean;
  report: ReportRecord | undefined;
  /** Why a result could not be kept. */
  writeError: string | undefined;
  /** The result must be at the edge before the report. */
  needsUpload: boolean;
  /** JSON text. */
  progress: string | undefined;
  /** When the worker took the job and when it gave a result, by `performance.now()`. */
  startedAt: number | undefined;
  finishedAt: number | undefined;
  /** Number of the last chunk that arrived, and of the last one that the edge has. */
  chunkCount: number;
  chunksReceived: number;
};

export type LedgerChange = "report" | "progress" | "chunk" | "held";

const PROGRESS_MAX_LENGTH = 64 * 1024;

export class AttemptLedger {
  readonly #journal: Journal;
  readonly #log: AgentLog;
  readonly #entries = new Map<string, Entry>();
  #onChange: (ref: AttemptRef, change: LedgerChange) => void = () => {};
  #onReport: (outcome: string) => void = () => {};

  constructor(journal: Journal, log: AgentLog) {
    this.#journal = journal;
    this.#log = log;
    for (const record of journal.attempts()) this.#recover(record);
    for (const { report, hasOutput } of journal.reports()) {
      const entry = this.#recover(report);
      entry.isSettled = true;
      entry.report = report;
      entry.needsUpload = hasOutput;
    }
  }

  /** How many attempts this host answers for. */
  get size(): number {
    return this.#entries.size;
  }

  /** The one listener that is notified of every change. */
  onChange(listener: (ref: AttemptRef, change: LedgerChange) => void): void {
    this.#onChange = listener;
  }

  /** The one listener that hears how attempts end. */
  onReport(listener: (outcome: string) => void): void {
    this.#onReport = listener;
  }

  /** Attempts without a report, and reports that the edge does not have yet. */
  depth(): { attempts: number; reports: number } {
    const reports = [...this.#entries.values()].filter(({ report }) => report !== undefined).length;
    return { attempts: this.#entries.size - reports, reports };
  }

  // From the edge

  receive(endpointId: string, jobs: readonly JobOutline[]): AttemptRecord[] {
    const records = jobs.map(({ id, attempt, workerId, executionTimeoutMs }) => {
      return { jobId: id, attempt, workerId, endpointId, receivedAt: Date.now(), executionTimeoutMs };
    });
    for (const record of records) this.#add(record);
    this.#write(records, () => this.#journal.addAttempts(records));
    for (const record of records) this.#onChange(record, "held");
    return records;
  }

  /** Forgets an attempt whose outcome is not wanted; false when it is unknown, or reported already. */
  abandon(jobId: string, attempt: number): boolean {
    const entry = this.#entries.get(keyOf({ jobId, attempt }));
    if (!entry || entry.isSettled) return false;
    this.#forget(entry);
    return true;
  }

  acknowledge(jobId: string, attempt: number, outcome: "accepted" | "refused"): void {
    const entry = this.#entries.get(keyOf({ jobId, attempt }));
    if (!entry?.report) return;
    if (outcome === "refused") this.#log.warn("report_refused", { jobId, attempt });
    this.#forget(entry);
  }

  /** The edge has the chunks of an attempt up to this number. */
  acknowledgeChunks(jobId: string, attempt: number, received: number): void {
    const entry = this.#entries.get(keyOf({ jobId, attempt }));
    if (!entry || received <= entry.chunksReceived) return;
    entry.chunksReceived = Math.min(received, entry.chunkCount);
    this.#journal.removeChunksBefore(entry.record, entry.chunksReceived); // A3
  }

  // From the worker

  /** Settles an attempt. False when it was settled before; throws when a result cannot be written. */
  async report(ref: AttemptRef, outcome: AttemptOutcome): Promise<boolean> {
    const entry = this.#entries.get(keyOf(ref));
    if (!entry || entry.isSettled) return false; // A2
    entry.isSettled = true;
    if (isResult(outcome) && entry.startedAt !== undefined) entry.finishedAt = performance.now();
    try {
      await this.#storeReport(entry, outcome);
    } catch (error) {
      entry.isSettled = false;
      entry.writeError = errorMessage(error);
      throw error;
    }
    this.#onReport(outcome.kind);
    this.#log.debug("job_reported", { jobId: ref.jobId, attempt: ref.attempt, outcome: outcome.kind });
    this.#onChange(ref, "report");
    return true;
  }

  /** The worker has the job. */
  recordStart(ref: AttemptRef): void {
    const entry = this.#entries.get(keyOf(ref));
    if (!entry || entry.isSettled) return;
    entry.startedAt = performance.now(); // sent with the next exchange, and no sooner
    this.#journal.markDelivered(ref);
  }

  async #storeReport(entry: Entry, outcome: AttemptOutcome): Promise<void> {
    const { output, ...report } = encodeReport(entry.record, outcome);
    const writing = this.#journal.addReport({ ...report, output });
    if (isResult(outcome)) await writing;
    else await writing.catch((error: unknown) => this.#logWriteError(entry.record, error)); // A5
    entry.report = report;
    entry.needsUpload = output !== null; // it is on the disk, and read when it is uploaded
  }

  /** Why this host could not keep the result of an open attempt; undefined when none arrived. */
  writeErrorOf(ref: AttemptRef): string | undefined {
    return this.#entries.get(keyOf(ref))?.writeError;
  }

  isOpen(ref: Pick<AttemptRef, "jobId" | "attempt">): boolean {
    return this.#entries.get(keyOf(ref))?.isSettled === false;
  }

  /** Takes the last progress of a handler, as JSON text. False when it is not wanted. */
  recordProgress(ref: AttemptRef, progress: string): boolean {
    const entry = this.#entries.get(keyOf(ref));
    if (!entry || entry.isSettled || progress.length > PROGRESS_MAX_LENGTH) return false;
    entry.progress = progress;
    this.#onChange(ref, "progress");
    return true;
  }

  /** Takes what a handler yielded, as JSON text. False when it is not wanted. */
  recordChunk(ref: AttemptRef, output: string): boolean {
    const entry = this.#entries.get(keyOf(ref));
    if (!entry || entry.isSettled) return false;
    this.#journal.addChunk(ref, entry.chunkCount + 1, output);
    entry.chunkCount += 1;
    this.#onChange(ref, "chunk");
    return true;
  }

  // What there is

  hasAny(): boolean {
    return this.#entries.size > 0;
  }

  /** Workers of the attempts, and their endpoints. */
  workers(): ReadonlyMap<string, string> {
    return new Map([...this.#entries.values()].map(({ record }) => [record.workerId, record.endpointId]));
  }

  /** The objects of endpoints whose jobs these are. */
  shards(): ShardRef[] {
    const shards = [...this.#entries.values()].map(({ record: { endpointId }, shard }) => ({
      endpointId,
      shard,
    }));
    return [...new Map(shards.map((ref) => [`${ref.endpointId}#${ref.shard}`, ref])).values()];
  }

  hasAnyOf({ endpointId, shard }: ShardRef): boolean {
    return [...this.#entries.values()].some(
      (entry) => entry.record.endpointId === endpointId && entry.shard === shard,
    );
  }

  /** Jobs of a worker. */
  jobsOf(workerId: string): string[] {
    return [...this.#entries.values()].flatMap(({ record }) =>
      record.workerId === workerId ? record.jobId : [],
    );
  }

  /** Attempts without a result. */
  openAttempts(ref: ShardRef): AttemptRef[] {
    return this.#ofShard(ref).flatMap((entry) => (entry.isSettled ? [] : entry.record));
  }

  encodedAttempts(ref: ShardRef): EncodedAttempt[] {
    return this.#ofShard(ref).map(({ record, progress, startedAt, finishedAt }) => {
      const { jobId, attempt, workerId } = record;
      const ago = startedAt === undefined ? undefined : agesOf(startedAt, finishedAt);
      const body = JSON.stringify({ jobId, attempt, workerId, ago } satisfies Partial<LeaseRenewal>);
      return { body, progress };
    });
  }

  /** Reports that may go to the edge. */
  reports(ref: ShardRef): ReportRecord[] {
    return this.#ofShard(ref).flatMap((entry) => (entry.needsUpload ? [] : (entry.report ?? [])));
  }

  // Large results

  /** Attempts whose results must go to the edge before their reports. */
  resultsToUpload(): AttemptRef[] {
    return [...this.#entries.values()].filter((entry) => entry.needsUpload).map((entry) => entry.record);
  }

  resultOf(ref: AttemptRef): string {
    return this.#journal.reportedOutput(ref);
  }

  /** The edge has the result; its report may go. */
  markUploaded(ref: AttemptRef, upload: Upload): void {
    const entry = this.#entries.get(keyOf(ref));
    if (!entry?.report) return;
    entry.report = { ...entry.report, body: withUpload(entry.report.body, upload) };
    entry.needsUpload = false;
    this.#onChange(ref, "report");
  }

  /** The edge will never take the result: the job ends without one, with the reason. */
  async failUpload(ref: AttemptRef, error: string): Promise<void> {
    const entry = this.#entries.get(keyOf(ref));
    if (!entry) return;
    await this.#storeReport(entry, { kind: "failed", error, output: undefined });
    this.#onChange(ref, "report");
  }

  /** The next chunks of each attempt that the edge has not got, together not much more than `limitBytes`. */
  unreceivedChunks(
    ref: ShardRef,
    limitBytes: number,
    isUnderway: (ref: AttemptRef) => boolean,
  ): ChunkRecord[] {
    const records: ChunkRecord[] = [];
    let leftBytes = limitBytes;
    for (const { record, chunkCount, chunksReceived } of this.#ofShard(ref)) {
      if (chunksReceived === chunkCount || isUnderway(record)) continue;
      if (leftBytes <= 0) break;
      const from = chunksReceived + 1;
      const outputs = this.#journal.chunksFrom(record, from, leftBytes);
      leftBytes -= outputs.reduce((sum, output) => sum + output.length, 0);
      records.push({ ...record, from, outputs });
    }
    return records;
  }

  /** Whether the edge has all chunks of an attempt when it has those of `batch` too. */
  hasSentAllChunks(ref: AttemptRef, batch: readonly ChunkRecord[]): boolean {
    const entry = this.#entries.get(keyOf(ref));
    if (!entry || entry.chunksReceived === entry.chunkCount) return true;
    const own = batch.find((chunks) => keyOf(chunks) === keyOf(ref));
    return own !== undefined && own.from + own.outputs.length - 1 === entry.chunkCount;
  }

  /** Drops everything kept for an object of an endpoint that the edge does not know any more. */
  forgetShard(ref: ShardRef): void {
    for (const entry of this.#ofShard(ref)) {
      this.#log.warn("report_dropped", { jobId: entry.record.jobId, attempt: entry.record.attempt });
      this.#forget(entry);
    }
  }

  #ofShard({ endpointId, shard }: ShardRef): Entry[] {
    return [...this.#entries.values()].filter(
      (entry) => entry.record.endpointId === endpointId && entry.shard === shard,
    );
  }

  #recover(ref: AttemptRef): Entry {
    const entry = this.#add(ref);
    const span = this.#journal.chunkSpan(ref);
    if (span) {
      entry.chunkCount = span.last;
      entry.chunksReceived = span.first - 1; // the mark goes again; the edge knows it by its number
    }
    return entry;
  }

  #add(record: AttemptRef): Entry {
    const entry: Entry = {
      record,
      shard: shardOfJob(record.jobId),
      isSettled: false,
      report: undefined,
      writeError: undefined,
      needsUpload: false,
      progress: undefined,
      startedAt: undefined,
      finishedAt: undefined,
      chunkCount: 0,
      chunksReceived: 0,
    };
    this.#entries.set(keyOf(record), entry);
    return entry;
  }

  #forget(entry: Entry): void {
    entry.isSettled = true;
    this.#entries.delete(keyOf(entry.record));
    this.#journal.removeAttempt(entry.record);
    this.#onChange(entry.record, "held");
  }

  /** A5 */
  #write(records: readonly AttemptRef[], write: () => void): void {
    try {
      write();
    } catch (error) {
      for (const record of records) this.#logWriteError(record, error);
    }
  }

  #logWriteError({ jobId, attempt }: AttemptRef, error: unknown): void {
    this.#log.error("journal_failed", { jobId, attempt, reason: String(error) });
  }
}

function agesOf(startedAt: number, finishedAt: number | undefined): LeaseRenewal["ago"] {
  const handlerStarted = ageMs(startedAt);
  return finishedAt === undefined
    ? { handlerStarted }
    : { handlerStarted, handlerFinished: ageMs(finishedAt) };
}

function isResult({ kind }: AttemptOutcome): boolean {
  return kind === "completed" || kind === "failed";
}

function keyOf({ jobId, attempt }: { jobId: string; attempt: number }): string {
  return `${jobId}/${attempt}`;
}
