/** Removes logs that are too old, and those of endpoints that are gone. */
import { LOG_REMOVALS_MAX } from "../../contract/limits.ts";
import {
  DAY_MS,
  daysBack,
  firstRetainedDay,
  logPrefix,
  SEQ_PER_MS,
  type LogOwner,
} from "../../domain/logs/log-key.ts";

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

/** Removes logs of an endpoint, some of each day; says whether none are left. */
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
