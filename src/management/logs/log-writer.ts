/** Puts lines of logs into R2: one gzipped object per worker and batch, a JSON text per line. */
import type { LogLine, WorkerLines } from "../../contract/agent/log.ts";
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import { inGigabytes } from "../../domain/limits/gigabytes.ts";
import { logKey, SEQ_PER_MS, type LogOwner } from "../../domain/logs/log-key.ts";
import { splitIntoPieces, type LogPiece } from "../../domain/logs/log-lines.ts";
import type { Env } from "../../env.ts";
import { logBytesPerDay, logsFullSince, takeLogStorage } from "./log-quota.ts";

type LogEnv = Pick<Env, "DB" | "LOGS" | "LOG_STORAGE_GB_PER_DAY">;

/** Keys of the lines about a full day that this isolate has written. */
const writtenKeys = new BoundedMap<true>(10_000);

/**
 * The same lines, sent again, take the place of the first ones. One object after the other is made. Lines for which
 * the account has no storage left today are dropped, and a line in their place reports it.
 */
export async function storeLines(
  env: LogEnv,
  owner: LogOwner,
  { workerId, lines }: WorkerLines,
  now: number,
): Promise<void> {
  for (const piece of splitIntoPieces(lines)) {
    if (!(await storePiece(env, owner, workerId, piece, now))) break;
  }
  const fullSince = logsFullSince(owner.accountId, now);
  if (fullSince !== undefined && lines.length > 0) await writeFullDayLine(env, owner, workerId, fullSince);
}

/** False when there is no storage for it. */
async function storePiece(
  env: LogEnv,
  owner: LogOwner,
  workerId: string,
  { first, last, lines }: LogPiece,
  now: number,
): Promise<boolean> {
  const { accountId } = owner;
  if (logsFullSince(accountId, now) !== undefined) return false; // spares the work of zipping it
  const bytes = await zipped(lines);
  if (!(await takeLogStorage(env, accountId, bytes.byteLength, now))) return false;
  await env.LOGS.put(logKey(owner, { workerId, first, last }), bytes);
  return true;
}

/** Every isolate writes the same line under the same key, so a worker has one in a day. */
async function writeFullDayLine(
  env: LogEnv,
  owner: LogOwner,
  workerId: string,
  fullSince: number,
): Promise<void> {
  const seq = fullSince * SEQ_PER_MS;
  const key = logKey(owner, { workerId, first: seq, last: seq });
  if (writtenKeys.get(key)) return;
  const line: LogLine = { seq, source: "system", line: describeFullDay(fullSince, logBytesPerDay(env)) };
  await env.LOGS.put(key, await zipped([JSON.stringify(line)]));
  writtenKeys.set(key, true);
}

function describeFullDay(fullSince: number, limitBytes: number): string {
  const time = new Date(fullSince).toISOString().slice(11, 16);
  return (
    `Lines since ${time} UTC are not kept: logs of the account may add ${inGigabytes(limitBytes)} GB a day, gzipped, ` +
    "and have done so today. Lines are kept again from 00:00 UTC on; until then they are shown only while a client " +
    "follows. Print less, or ask the operator for a higher LOG_STORAGE_GB_PER_DAY."
  );
}

async function zipped(lines: readonly string[]): Promise<ArrayBuffer> {
  const stream = new Response(lines.join("\n")).body?.pipeThrough(new CompressionStream("gzip"));
  return await new Response(stream).arrayBuffer(); // R2 wants to know the length
}
