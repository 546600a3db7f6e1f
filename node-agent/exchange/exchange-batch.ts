/**
 * What immediate exchanges bring to the edge: chunks of running handlers, and reports of ended attempts.
 *
 * C1  Chunks of an attempt go in one exchange at a time, so they stay in order. What is added meanwhile goes
 *     together in the next one.
 * C2  A report goes with or after the last chunk of its attempt, so a completed job has all its chunks.
 * C3  What is not acknowledged is sent again; the edge recognizes by the numbers what it has already.
 */
import type { ExchangeReply } from "../../src/contract/agent/agent.ts";
import type { AttemptLedger, ChunkRecord } from "../journal/attempt-ledger.ts";
import type { AttemptRef, ReportRecord } from "../journal/journal.ts";
import type { ShardRef } from "../journal/shard-ref.ts";
import { batchReports } from "./exchange-plan.ts";

export type ExchangeBatch = {
  readonly reports: readonly ReportRecord[];
  readonly chunks: readonly ChunkRecord[];
};

export const EMPTY_BATCH: ExchangeBatch = { reports: [], chunks: [] };

const CHUNKS_MAX_BYTES = 256 * 1024;

/** What no open exchange carries, as much as one may bring. */
export function nextBatch(
  ledger: AttemptLedger,
  shard: ShardRef,
  underway: readonly ExchangeBatch[],
): ExchangeBatch {
  const chunksUnderway = new Set(underway.flatMap(({ chunks }) => chunks.map(keyOf)));
  const isUnderway = (ref: AttemptRef) => chunksUnderway.has(keyOf(ref)); // C1
  const chunks = ledger.unreceivedChunks(shard, CHUNKS_MAX_BYTES, isUnderway);
  const reportsUnderway = new Set(underway.flatMap(({ reports }) => reports));
  const unsent = ledger
    .reports(shard)
    .filter((report) => !reportsUnderway.has(report) && ledger.hasSentAllChunks(report, chunks)); // C2
  return { chunks, reports: batchReports(unsent) };
}

export function isEmpty({ reports, chunks }: ExchangeBatch): boolean {
  return reports.length + chunks.length === 0;
}

/** The members `reports` and `chunks` of an exchange. */
export function encodeBatch({ reports, chunks }: ExchangeBatch): string {
  const bodies = reports.map((report) => report.body).join(",");
  return `"reports":[${bodies}],"chunks":[${chunks.map(encodeChunks).join(",")}]`;
}

/** Notes which chunks the edge has. */
export function acknowledgeChunks(
  { chunks }: ExchangeBatch,
  acks: ExchangeReply["chunkAcks"],
  ledger: AttemptLedger,
): void {
  // An edge that knows no streams wants no chunks, but it wants the reports that wait for them.
  const settled = acks ?? chunks.map((batch) => ({ ...batch, received: lastOf(batch) }));
  for (const { jobId, attempt, received } of settled) ledger.acknowledgeChunks(jobId, attempt, received);
}

/** False when the edge answered, but not to the whole batch. */
export function isAcknowledged(
  { reports, chunks }: ExchangeBatch,
  { acks, chunkAcks }: Pick<ExchangeReply, "acks" | "chunkAcks">,
): boolean {
  const acknowledged = new Set(acks.map(keyOf));
  if (reports.some((report) => !acknowledged.has(keyOf(report)))) return false;
  if (!chunkAcks) return true;
  const received = new Map(chunkAcks.map((ack) => [keyOf(ack), ack.received]));
  return chunks.every((batch) => (received.get(keyOf(batch)) ?? 0) >= lastOf(batch));
}

function encodeChunks({ jobId, attempt, workerId, from, outputs }: ChunkRecord): string {
  const members = JSON.stringify({ jobId, attempt, workerId, from });
  return `${members.slice(0, -1)},"outputs":[${outputs.join(",")}]}`;
}

function lastOf({ from, outputs }: ChunkRecord): number {
  return from + outputs.length - 1;
}

function keyOf({ jobId, attempt }: Pick<AttemptRef, "jobId" | "attempt">): string {
  return `${jobId}/${attempt}`;
}
