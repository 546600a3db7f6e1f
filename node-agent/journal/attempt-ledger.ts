/**
 * All attempts that this host answers for, from the reply that brought them to the edge's acknowledgement.
 *
 * A1  An attempt is in the ledger before anything else happens with it.
 * A2  It has one outcome: the first report wins, later results are dropped.
 * A3  It stays held until its report is acknowledged, or until the edge says that it is not wanted.
 */
import type { AttemptReport, DispatchedJob, HeldJob } from "../../src/contract/agent.ts";
import type { JsonValue } from "../../src/contract/json.ts";
import type { AgentLog } from "../log.ts";
import type { AttemptRecord, AttemptRef, Journal, ReportRecord } from "./journal.ts";

/** What became of an attempt, without saying again whose it is. */
export type AttemptOutcome =
  | { readonly kind: "completed"; readonly output: JsonValue | undefined }
  | { readonly kind: "failed"; readonly error: string; readonly output: JsonValue | undefined }
  | { readonly kind: "timed_out" }
  | { readonly kind: "lost"; readonly reason: string };

type Entry = {
  readonly record: AttemptRef;
  isSettled: boolean;
  report: ReportRecord | undefined;
  progress: JsonValue | undefined;
  chunkCount: number;
};

export type LedgerChange = "report" | "progress" | "held";

const REASON_MAX_LENGTH = 2_000;
const PROGRESS_MAX_LENGTH = 64 * 1024;

export class AttemptLedger {
  readonly #journal: Journal;
  readonly #log: AgentLog;
  readonly #entries = new Map<string, Entry>();
  #onChange: (endpointId: string, change: LedgerChange) => void = () => {};

  constructor(journal: Journal, log: AgentLog) {
    this.#journal = journal;
    this.#log = log;
    for (const record of journal.attempts()) {
      this.#add(record).chunkCount = journal.countChunks(record);
    }
    for (const report of journal.reports()) {
      const entry = this.#add(report);
      entry.isSettled = true;
      entry.report = report;
    }
  }

  /** The one listener that hears of every change. */
  onChange(listener: (endpointId: string, change: LedgerChange) => void): void {
    this.#onChange = listener;
  }

  // From the edge

  receive(endpointId: string, job: DispatchedJob): AttemptRecord {
    const record = {
      jobId: job.id,
      attempt: job.attempt,
      workerId: job.workerId,
      endpointId,
      receivedAt: Date.now(),
      executionTimeoutMs: job.executionTimeoutMs,
    };
    this.#add(record);
    this.#journal.addAttempt(record);
    this.#onChange(endpointId, "held");
    return record;
  }

  /** Forgets an attempt whose outcome nobody wants; false when it is not held, or reported already. */
  release(jobId: string, attempt: number): boolean {
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

  // From the worker

  /** Settles an attempt. False when it was settled before; throws when the journal cannot be written. */
  async report(ref: AttemptRef, outcome: AttemptOutcome): Promise<boolean> {
    const entry = this.#entries.get(keyOf(ref));
    if (!entry || entry.isSettled) return false; // A2
    entry.isSettled = true;
    const report = { ...entry.record, ...encodeReport(entry.record, outcome) };
    try {
      await this.#journal.addReport(report);
    } catch (error) {
      entry.isSettled = false;
      throw error;
    }
    entry.report = report;
    this.#log.info("job_reported", { jobId: ref.jobId, attempt: ref.attempt, outcome: outcome.kind });
    this.#onChange(ref.endpointId, "report");
    return true;
  }

  isOpen(ref: AttemptRef): boolean {
    return this.#entries.get(keyOf(ref))?.isSettled === false;
  }

  noteProgress(ref: AttemptRef, value: JsonValue): boolean {
    const entry = this.#entries.get(keyOf(ref));
    if (!entry || entry.isSettled || JSON.stringify(value).length > PROGRESS_MAX_LENGTH) return false;
    entry.progress = value;
    this.#onChange(ref.endpointId, "progress");
    return true;
  }

  noteChunk(ref: AttemptRef, output: string): boolean {
    const entry = this.#entries.get(keyOf(ref));
    if (!entry || entry.isSettled) return false;
    entry.chunkCount += 1;
    this.#journal.addChunk(ref, entry.chunkCount, output);
    return true;
  }

  // What there is

  hasAny(): boolean {
    return this.#entries.size > 0;
  }

  endpointIds(): Set<string> {
    return new Set([...this.#entries.values()].map((entry) => entry.record.endpointId));
  }

  hasAnyOf(endpointId: string): boolean {
    return [...this.#entries.values()].some((entry) => entry.record.endpointId === endpointId);
  }

  held(endpointId: string): HeldJob[] {
    return this.#ofEndpoint(endpointId).map(({ record: { jobId, attempt, workerId }, progress }) => {
      const job = { jobId, attempt, workerId };
      return progress === undefined ? job : { ...job, progress };
    });
  }

  reports(endpointId: string): ReportRecord[] {
    return this.#ofEndpoint(endpointId).flatMap((entry) => entry.report ?? []);
  }

  /** Drops all that is held for an endpoint that the edge does not know any more. */
  forgetEndpoint(endpointId: string): void {
    for (const entry of this.#ofEndpoint(endpointId)) {
      this.#log.warn("report_dropped", { jobId: entry.record.jobId, attempt: entry.record.attempt });
      this.#forget(entry);
    }
  }

  #ofEndpoint(endpointId: string): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.record.endpointId === endpointId);
  }

  #add(record: AttemptRef): Entry {
    const entry: Entry = {
      record,
      isSettled: false,
      report: undefined,
      progress: undefined,
      chunkCount: 0,
    };
    this.#entries.set(keyOf(record), entry);
    return entry;
  }

  #forget(entry: Entry): void {
    entry.isSettled = true;
    this.#entries.delete(keyOf(entry.record));
    this.#journal.removeAttempt(entry.record);
    this.#onChange(entry.record.endpointId, "held");
  }
}

function keyOf({ jobId, attempt }: { jobId: string; attempt: number }): string {
  return `${jobId}/${attempt}`;
}

function encodeReport(ref: AttemptRef, outcome: AttemptOutcome): { body: string } {
  const { jobId, attempt, workerId } = ref;
  try {
    return { body: JSON.stringify(shorten({ jobId, attempt, workerId, ...outcome })) };
  } catch {
    // Only nesting beyond the stack of the encoder gets here: everything came out of a JSON parser.
    const error = "The result is nested too deeply to be encoded.";
    return { body: JSON.stringify({ kind: "failed", jobId, attempt, workerId, error }) };
  }
}

type LooseReport = AttemptOutcome & Pick<AttemptReport, "jobId" | "attempt" | "workerId">;

function shorten(report: LooseReport): LooseReport {
  if (report.kind !== "lost") return report;
  return { ...report, reason: report.reason.slice(0, REASON_MAX_LENGTH) };
}
