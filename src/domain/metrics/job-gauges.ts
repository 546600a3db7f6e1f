/** How jobs changed the gauges of their endpoint, derived from their rows: for an object that has lost its memory. */
import type { Gauges } from "./gauges.ts";

/** The times of a job, or of several that wait since about the same time. */
export type JobSpan = {
  readonly queuedAt: number;
  /** Null while it waits. */
  readonly startedAt: number | null;
  /** Null while it waits or runs. */
  readonly finishedAt: number | null;
  readonly workerId: string | null;
  /** How many jobs; absent for one. */
  readonly count?: number;
};

type GaugeStep = { readonly at: number; readonly gauges: Gauges };

/**
 * The levels from `since` to the present, in their order. Jobs that are not among `spans` waited all the time, and
 * workers were as many as now.
 */
export function gaugesOfJobs(spans: readonly JobSpan[], present: Gauges, since: number): GaugeStep[] {
  const waiting = spans.reduce((sum, span) => sum + (leftQueueAt(span) === null ? countOf(span) : 0), 0);
  let queued = Math.max(0, present.queued - waiting);
  let running = 0;
  const jobsOf = new Map<string, number>();
  const work = (workerId: string, change: 1 | -1) => {
    running += change;
    const jobs = (jobsOf.get(workerId) ?? 0) + change;
    if (jobs > 0) jobsOf.set(workerId, jobs);
    else jobsOf.delete(workerId);
  };
  const moves: { readonly at: number; readonly apply: () => void }[] = [{ at: since, apply: () => {} }];
  for (const span of spans) {
    const { queuedAt, startedAt, finishedAt, workerId } = span;
    const addMove = (at: number | null, apply: () => void) => {
      if (at !== null) moves.push({ at: Math.max(since, at), apply });
    };
    addMove(queuedAt, () => (queued += countOf(span)));
    addMove(leftQueueAt(span), () => (queued -= 1));
    if (startedAt === null || workerId === null) continue;
    addMove(startedAt, () => work(workerId, 1));
    addMove(finishedAt, () => work(workerId, -1));
  }
  const groups = Map.groupBy(
    moves.toSorted((a, b) => a.at - b.at),
    ({ at }) => at,
  );
  return [...groups].map(([at, group]) => {
    for (const { apply } of group) apply();
    const busy = jobsOf.size;
    const idle = Math.max(0, present.busy + present.idle - busy);
    return { at, gauges: { ...present, queued, running, busy, idle } };
  });
}

function countOf({ count = 1 }: JobSpan): number {
  return count;
}

function leftQueueAt({ startedAt, finishedAt }: JobSpan): number | null {
  return startedAt ?? finishedAt;
}
