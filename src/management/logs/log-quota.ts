/**
 * How many bytes logs of an account may add to R2 in a day of UTC, gzipped as they lie there.
 *
 * Q1  A row in D1 records how many of a day's bytes were taken: never more than the limit, whatever isolates do.
 * Q2  An isolate takes bytes ahead, so that it queries D1 once in 64 MB, and never more than it has stored that day, so
 *     that at most half of a day's bytes is lost with isolates that end.
 */
import { openDatabase } from "../../db/database.ts";
import { takeLogBytes } from "../../db/log-days.ts";
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import { bytesOfVariable } from "../../domain/limits/gigabytes.ts";
import { logDay, SEQ_PER_MS } from "../../domain/logs/log-key.ts";
import type { Env } from "../../env.ts";

/** What logs of an account may add to R2 in a day, in GB, unless LOG_STORAGE_GB_PER_DAY sets another limit. */
const LOG_STORAGE_DEFAULT_GB_PER_DAY = 10;

/** What an isolate may take of that ahead: the smallest and the largest share. */
const LOG_SHARE_MIN_BYTES = 1_000_000;

const LOG_SHARE_MAX_BYTES = 64_000_000;

/** D1 answers sooner. A request whose client goes is ended with what it waits for, and then no answer comes. */
const TAKE_MAX_MS = 5_000;

type QuotaEnv = Pick<Env, "DB" | "LOG_STORAGE_GB_PER_DAY">;

/** What this isolate has of an account's day. */
type Share = {
  readonly accountId: string;
  readonly day: string;
  leftBytes: number;
  storedBytes: number;
  /** When the day's bytes were used up. */
  fullSince: number | undefined;
  /** Lines that come meanwhile wait for the same answer. */
  pending: Taking | undefined;
};

type Taking = { readonly since: number; readonly done: Promise<void> };

const ACCOUNTS_REMEMBERED = 10_000;

const shares = new BoundedMap<Share>(ACCOUNTS_REMEMBERED);

/** LOG_STORAGE_GB_PER_DAY in bytes, if it is a size that makes sense. */
export function logBytesPerDay({ LOG_STORAGE_GB_PER_DAY }: Omit<QuotaEnv, "DB">): number {
  return bytesOfVariable(LOG_STORAGE_GB_PER_DAY, LOG_STORAGE_DEFAULT_GB_PER_DAY);
}

/** Since when nothing more of the account is kept today, as far as this isolate knows. */
export function logsFullSince(accountId: string, now: number): number | undefined {
  return shareOf(accountId, now).fullSince;
}

/** Counts bytes that will be stored; false when they may not be. */
export async function takeLogStorage(
  env: QuotaEnv,
  accountId: string,
  sizeBytes: number,
  now: number,
): Promise<boolean> {
  const share = shareOf(accountId, now);
  while (share.fullSince === undefined && share.leftBytes < sizeBytes) {
    const isUnderway = share.pending !== undefined && now - share.pending.since < TAKE_MAX_MS;
    if (!isUnderway) share.pending = { since: now, done: takeMore(env, share, sizeBytes, now) };
    await share.pending?.done;
  }
  if (share.fullSince !== undefined) return false;
  share.leftBytes -= sizeBytes;
  share.storedBytes += sizeBytes;
  return true;
}

async function takeMore(env: QuotaEnv, share: Share, sizeBytes: number, now: number): Promise<void> {
  const ahead = Math.min(Math.max(share.storedBytes, LOG_SHARE_MIN_BYTES), LOG_SHARE_MAX_BYTES);
  const needed = sizeBytes - share.leftBytes;
  const bytes = { needed, requested: Math.max(needed, ahead), limit: logBytesPerDay(env) };
  try {
    const taken = await takeLogBytes(openDatabase(env.DB), share, bytes, now);
    if ("bytes" in taken) share.leftBytes += taken.bytes;
    else share.fullSince = taken.fullSince;
  } finally {
    share.pending = undefined;
  }
}

function shareOf(accountId: string, now: number): Share {
  const day = logDay(now * SEQ_PER_MS);
  const cached = shares.get(accountId);
  if (cached?.day === day) return cached;
  const fresh = { accountId, day, leftBytes: 0, storedBytes: 0, fullSince: undefined, pending: undefined };
  shares.set(accountId, fresh);
  return fresh;
}
