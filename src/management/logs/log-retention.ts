/** How long logs are kept. */
import type { Env } from "../../env.ts";
import {
  DAY_MS,
  daysBack,
  firstRetainedDay,
  logPrefix,
  SEQ_PER_MS,
  type LogOwner,
} from "../../domain/logs/log-key.ts";

/** How long logs are kept, unless LOG_RETENTION_DAYS sets another time. */
export const LOG_RETENTION_DAYS_DEFAULT = 14;

const LOG_RETENTION_DAYS_MAX = 365;
/** Objects with old lines that one maintenance run removes at most. */
const LOG_REMOVALS_MAX = 5_000;

/** Lines of a later time are not kept. */
export const LOG_AHEAD_MAX_MS = 60_000;

/** LOG_RETENTION_DAYS, if it is a number of days that makes sense. */
export function logRetentionDays({ LOG_RETENTION_DAYS }: Pick<Env, "LOG_RETENTION_DAYS">): number {
  const days = Number(LOG_RETENTION_DAYS ?? Number.NaN);
  if (!Number.isInteger(days) || days < 1) return LOG_RETENTION_DAYS_DEFAULT;
  return Math.min(days, LOG_RETENTION_DAYS_MAX);
}

/** Removes some of what is too old, which stands at the beginning of the bucket; returns how many objects. */
export async function removeOldLogs(bucket: R2Bucket, now: number, retentionDays: number): Promise<number> {
  const firstRetained = firstRetainedDay(now, retentionDays);
  let removed = 0;
  while (removed < LOG_REMOVALS_MAX) {
    const { objects } = await bucket.list();
    const old = objects.map(({ key }) => key).filter((key) => key < firstRetained);
    if (old.length > 0) await bucket.delete(old);
    removed += old.length;
    if (old.length === 0 || old.length < objects.length) break;
  }
  return removed;
}

/** Removes logs of an endpoint, some of each day; returns whether all are gone. */
export async function removeLogsOf(
  bucket: R2Bucket,
  owner: LogOwner,
  now: number,
  retentionDays: number,
): Promise<boolean> {
  const days = daysBack((now + DAY_MS) * SEQ_PER_MS, (now - retentionDays * DAY_MS) * SEQ_PER_MS);
  const emptied = await Promise.all(
    Array.from(days, async (day) => {
      const { objects, truncated } = await bucket.list({ prefix: logPrefix(owner, day) });
      if (objects.length > 0) await bucket.delete(objects.map(({ key }) => key));
      return !truncated;
    }),
  );
  return emptied.every(Boolean);
}
