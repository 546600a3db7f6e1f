/** What holds of the rows of jobs: which changes there are, and what each row says. */
import { RESCUE_LIMIT } from "../../../src/domain/jobs/job-machine.ts";
import type { JobChange } from "../runtime/storage.ts";

/**
 * State before and after, and attempts that were added. A claim may be told by no row of its own, but with what ended
 * it.
 */
export const CHANGES: ReadonlySet<string> = new Set([
  "none > running 1",
  "queued > queued 1",
  "queued > completed 1",
  "queued > failed 1",
  "queued > timed_out 1",
  "queued > cancelled 1",
  "none > queued 0",
  "queued > queued 0",
  "queued > running 1",
  "queued > cancelled 0",
  "running > running 0",
  "running > queued 0",
  "running > completed 0",
  "running > failed 0",
  "running > timed_out 0",
  "running > cancelled 0",
  "completed > completed 0",
  "failed > failed 0",
  "failed > queued 0",
  "timed_out > timed_out 0",
  "timed_out > queued 0",
  "cancelled > cancelled 0",
]);

export const LOW_PRIORITY_FROM = 2 ** 46;

/** An attempt ends this long after its time at the latest, unless its object cannot run. */
const TIMEOUT_SLACK_MS = 5_000;

/** No worker starts for a job of low priority alone: it waits for as long as nothing else needs one. */
export function isLowPriority(seq: unknown): boolean {
  return Number(seq) >= LOW_PRIORITY_FROM;
}

/** A job that had ended is to run again. */
export function isRetry({ before, after }: JobChange): boolean {
  return after === "queued" && (before === "failed" || before === "timed_out");
}

export function nameOf({ before, after, attempts }: JobChange): string {
  return `${before ?? "none"} > ${after} ${attempts}`;
}

/** What is wrong with a job after a change. */
export function violationsOf(change: JobChange): readonly string[] {
  const { seq, rescues, startedAt, finishedAt, expiresAt, executionTimeoutMs } = change;
  const faults: string[] = [];
  const name = nameOf(change);
  if (!CHANGES.has(name)) faults.push(`job ${seq} changed: ${name} attempts`);
  if (change.overwritten !== "" && !isRetry(change))
    faults.push(`job ${seq} had ended, and has changed: ${name} attempts, ${change.overwritten}`);
  if (rescues > RESCUE_LIMIT && change.after !== "failed")
    faults.push(`job ${seq} was given out again ${rescues} times`);
  if (startedAt !== null && startedAt >= expiresAt)
    faults.push(`job ${seq} began at ${startedAt}, and had expired at ${expiresAt}`);
  if (startedAt !== null && finishedAt !== null) {
    const ranMs = finishedAt - startedAt;
    if (ranMs < 0) faults.push(`job ${seq} ended before it began`);
    if (ranMs > executionTimeoutMs + TIMEOUT_SLACK_MS)
      faults.push(`job ${seq} ran for ${ranMs} ms of ${executionTimeoutMs}`);
  }
  return [...faults, ...violationsOfResult(change)];
}

/** The result is that of the worker which has the attempt. */
function violationsOfResult({ seq, after, workerId, output }: JobChange): readonly string[] {
  if (after !== "completed" || !output?.startsWith("{")) return []; // a large one is in R2
  const { by } = JSON.parse(output) as { readonly by?: string };
  if (by === undefined || by === workerId) return [];
  return [`job ${seq} of worker ${workerId} has the result of worker ${by}`];
}

/** The mark of the execution whose result or error a change brings; undefined when it shows none. */
export function markOf({ after, output, error }: JobChange): number | undefined {
  if (after === "completed" && output?.startsWith("{"))
    return (JSON.parse(output) as { readonly mark?: number }).mark;
  const [, digits] = /The handler failed: (\d+)/.exec((after === "failed" && error) || "") ?? [];
  return digits === undefined ? undefined : Number(digits);
}
