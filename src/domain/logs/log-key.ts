/**
 * Where lines of logs are stored: `<day>/<account>/<endpoint>/<last, counted down>-<first>-<worker>`.
 *
 * The day comes first, so that expired objects are at the beginning of the bucket; the newest object of an
 * endpoint's day comes first, since the newest lines are requested most; and the key describes the content of
 * an object, which need not be read for that.
 */

/** Lines of one object span at most this, so that a reader knows where to begin. */
const LOG_SPAN_MAX_MS = 10 * 60_000;

/** The endpoint that the logs belong to. */
export type LogOwner = { readonly accountId: string; readonly endpointId: string };

export type LogObject = {
  readonly workerId: string;
  /** `seq` of the first and the last line. */
  readonly first: number;
  readonly last: number;
};

export const DAY_MS = 86_400_000;
const DIGITS = 16;
const HIGHEST = 10 ** DIGITS - 1;
const PATTERN = /^(\d{16})-(\d{16})-([A-Za-z0-9_-]+)$/;

/** Times are in ms, a `seq` in microseconds. */
export const SEQ_PER_MS = 1_000;
/** No object's lines lie further apart. */
export const SPAN_MAX = LOG_SPAN_MAX_MS * SEQ_PER_MS;

/** The day in UTC, as keys begin. */
export function logDay(seq: number): string {
  return new Date(seq / SEQ_PER_MS).toISOString().slice(0, 10);
}

export function logPrefix({ accountId, endpointId }: LogOwner, day: string): string {
  return `${day}/${accountId}/${endpointId}/`;
}

export function logKey(owner: LogOwner, { workerId, first, last }: LogObject): string {
  return `${logPrefix(owner, logDay(last))}${digits(HIGHEST - last)}-${digits(first)}-${workerId}`;
}

/** A key of this day sorts after it if its object has no line above `seq`. */
export function keyBefore(owner: LogOwner, day: string, seq: number): string {
  return `${logPrefix(owner, day)}${digits(HIGHEST - Math.min(seq, HIGHEST))}`;
}

/** What the object of a key contains; undefined for text that is not a key. */
export function readLogKey(key: string): LogObject | undefined {
  const match = PATTERN.exec(key.slice(key.lastIndexOf("/") + 1));
  if (!match) return undefined;
  return { last: HIGHEST - Number(match[1]), first: Number(match[2]), workerId: match[3] ?? "" };
}

/** The days from the one of `fromSeq` back to that of `toSeq`, one at a time: the caller may not need them all. */
export function* daysBack(fromSeq: number, toSeq: number): Generator<string, undefined> {
  const last = Math.floor(toSeq / SEQ_PER_MS / DAY_MS);
  for (let day = Math.floor(fromSeq / SEQ_PER_MS / DAY_MS); day >= last; day -= 1) {
    yield logDay(day * DAY_MS * SEQ_PER_MS);
  }
  return undefined;
}

/** The first day that is kept; an object with a smaller key, compared as a string, is removed. */
export function firstRetainedDay(now: number, retentionDays: number): string {
  return logDay((now - retentionDays * DAY_MS) * SEQ_PER_MS);
}

function digits(seq: number): string {
  return String(seq).padStart(DIGITS, "0");
}
