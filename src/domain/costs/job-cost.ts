/**
 * What a job cost: the time that workers ran it, at their prices, and starts of workers that it caused. All of its
 * attempts count, lost ones as well: their workers were paid for.
 */
import type { JobCost, TimelineEvent } from "../../contract/job.ts";

const HOUR_MS = 3_600_000;
/** Digits after the point of a dollar: a millisecond at a cent per hour is three of the last. */
const DIGITS = 12;

/** Up to `now` while the job runs. `timeline`: its events in their order. */
export function costOfJob(timeline: readonly TimelineEvent[], now: number): JobCost {
  const attempts = timeline.flatMap((event, index) => {
    if (event.event !== "taken") return [];
    const end = timeline.slice(index + 1).find((later) => ENDS.has(later.event));
    return { taken: event, ms: Math.max(0, (end?.at ?? now) - event.at) };
  });
  const execution = sum(attempts.map(({ taken, ms }) => dollars(taken, ms)));
  const coldStart = sum(attempts.map(({ taken }) => dollars(taken, taken.startingMs ?? 0)));
  return { total: round(execution + coldStart), execution: round(execution), coldStart: round(coldStart) };
}

/** What ends an attempt: the first of these after it was taken. */
const ENDS: ReadonlySet<TimelineEvent["event"]> = new Set([
  "requeued",
  "finished",
  "cancelled",
  "retried",
  "taken",
]);

function dollars({ perHour = 0 }: TimelineEvent, ms: number): number {
  return (ms / HOUR_MS) * perHour;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function round(amount: number): number {
  return Number(amount.toFixed(DIGITS));
}
