/** Numbers and times in messages. */

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** How long before `now` (Unix ms) an ISO time was, such as "5 minutes ago"; other strings are returned unchanged. */
export function ago(time: string, now: number): string {
  const passedMs = now - Date.parse(time);
  if (Number.isNaN(passedMs)) return time;
  const [unit, lengthMs] = UNITS.find(([, length]) => passedMs >= length) ?? [];
  if (unit === undefined || lengthMs === undefined) return "just now";
  return new Intl.RelativeTimeFormat("en").format(-Math.floor(passedMs / lengthMs), unit);
}

/** Such as "1 endpoint", "2 endpoints". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Seconds since a time of `performance.now()`, rounded to a tenth. */
export function secondsSince(startedAt: number): number {
  return Math.round((performance.now() - startedAt) / 100) / 10;
}
