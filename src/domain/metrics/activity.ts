/** What an endpoint did in a span of time: requests, ends of jobs, how long these took, and its levels. */
import { Histogram, type HistogramRecord } from "./histogram.ts";
import { COLD_START_PARTS, type ColdStartPart } from "../../contract/job.ts";
import type { ColdStart } from "../jobs/cold-start.ts";
import type { FinalState } from "../jobs/job-machine.ts";
import { GaugeTracker, ZERO_GAUGES, type GaugeRecord, type Gauges } from "./gauges.ts";

export type JobCounts = {
  /** Jobs that were submitted. */
  requests: number;
  /** Jobs that were queued once more. */
  retried: number;
  /** Jobs that did not end before their ttl did. */
  expired: number;
} & Record<FinalState, number>;

const TIMES = ["delay", "execution", "coldStart"] as const;
/** In ms. A value belongs to the span in which its job ended. */
type Times<Of = Histogram> = Readonly<Record<(typeof TIMES)[number], Of>>;

/** How long an ended job or request waited and ran; null for what did not happen. */
export type EndTimes = { readonly delay: number | null; readonly execution: number | null };
type ColdStartParts<Of> = Readonly<Partial<Record<ColdStartPart, Of>>>;

export type ActivityRecord = {
  readonly from: number;
  readonly counts: JobCounts;
  readonly times: Times<HistogramRecord>;
  /** Parts of cold starts; those that took no time are left out. Absent in older records. */
  readonly coldStartParts?: ColdStartParts<HistogramRecord>;
  readonly levels: GaugeRecord;
};

export class Activity {
  readonly from: number;
  readonly counts: JobCounts;
  readonly times: Times;
  readonly coldStartParts: Map<ColdStartPart, Histogram>;
  readonly gauges: GaugeTracker;

  private constructor(
    from: number,
    counts: JobCounts,
    { times, parts }: { readonly times: Times; readonly parts: Map<ColdStartPart, Histogram> },
    gauges: GaugeTracker,
  ) {
    this.from = from;
    this.counts = counts;
    this.times = times;
    this.coldStartParts = parts;
    this.gauges = gauges;
  }

  /** A span without activity that begins with these levels. */
  static begin(from: number, gauges: Gauges): Activity {
    return new Activity(
      from,
      { ...NO_JOBS },
      { times: timesBy(() => new Histogram()), parts: new Map() },
      new GaugeTracker(from, gauges),
    );
  }

  static from({ from, counts, times, coldStartParts = {}, levels }: ActivityRecord): Activity {
    const histograms = timesBy((name) => Histogram.from(times[name]));
    const parts = new Map(
      COLD_START_PARTS.flatMap((part) => {
        const record = coldStartParts[part];
        return record ? [[part, Histogram.from(record)] as const] : [];
      }),
    );
    return new Activity(from, { ...counts }, { times: histograms, parts }, GaugeTracker.from(levels));
  }

  /** A job has ended. */
  recordEnd(state: FinalState, { delay, execution }: EndTimes, coldStart: ColdStart | null): void {
    this.counts[state] += 1;
    if (delay !== null) this.times.delay.add(delay);
    if (execution !== null) this.times.execution.add(execution);
    if (coldStart === null) return;
    this.times.coldStart.add(coldStart.totalMs);
    for (const part of COLD_START_PARTS)
      if (coldStart.parts[part] > 0) this.#partOf(part).add(coldStart.parts[part]);
  }

  #partOf(part: ColdStartPart): Histogram {
    const known = this.coldStartParts.get(part) ?? new Histogram();
    this.coldStartParts.set(part, known);
    return known;
  }

  /** Adds a later span that ends at `end`. */
  append(later: Activity, end: number): void {
    this.addJobs(later);
    this.gauges.append(later.from, later.gauges, end);
  }

  /** Adds what jobs did, and leaves the levels as they are. */
  addJobs(other: Activity): void {
    for (const name of Object.keys(NO_JOBS) as (keyof JobCounts)[]) this.counts[name] += other.counts[name];
    for (const name of TIMES) this.times[name].merge(other.times[name]);
    for (const [part, histogram] of other.coldStartParts) this.#partOf(part).merge(histogram);
  }

  toRecord(): ActivityRecord {
    const { from, counts, times, gauges } = this;
    const record = {
      from,
      counts,
      times: timesBy((name) => times[name].toRecord()),
      levels: gauges.toRecord(),
    };
    if (this.coldStartParts.size === 0) return record;
    const parts = [...this.coldStartParts].map(([part, histogram]) => [part, histogram.toRecord()] as const);
    return { ...record, coldStartParts: Object.fromEntries(parts) };
  }
}

/** A part of what is known: minutes, or hours. Parts do not overlap; between them nothing happened. */
export type ActivitySegment = { readonly activity: Activity; readonly lengthMs: number };

/** Spans of equal length, one after the other. */
export type Grid = { readonly from: number; readonly stepMs: number; readonly count: number };

/**
 * The activity of each span of a grid; every segment lies within one span. The last span ends at `now` or contains
 * it; `present` are the levels of now.
 */
export function spansOf(
  segments: readonly ActivitySegment[],
  grid: Grid,
  present: Gauges,
  now: number,
): Activity[] {
  const { from, stepMs, count } = grid;
  const end = from + count * stepMs;
  const inOrder = segments
    .filter(({ activity }) => activity.from >= from && activity.from < end)
    .toSorted((a, b) => a.activity.from - b.activity.from);
  const bySpan = Map.groupBy(inOrder, ({ activity }) => Math.floor((activity.from - from) / stepMs));
  let gauges = inOrder[0]?.activity.gauges.first ?? present;
  return Array.from({ length: count }, (_, index) => {
    const span = Activity.begin(from + index * stepMs, gauges);
    for (const { activity, lengthMs } of bySpan.get(index) ?? []) {
      span.append(activity, Math.min(activity.from + lengthMs, Math.max(now, activity.from)));
    }
    gauges = span.gauges.last;
    return span;
  });
}

/** All spans as one. */
export function sumOf(spans: readonly Activity[], stepMs: number, now: number): Activity {
  const [first] = spans;
  const sum = Activity.begin(first?.from ?? now, first?.gauges.first ?? ZERO_GAUGES);
  for (const span of spans) sum.append(span, Math.min(span.from + stepMs, Math.max(now, span.from)));
  return sum;
}

const NO_JOBS: Readonly<JobCounts> = {
  requests: 0,
  retried: 0,
  expired: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  timed_out: 0,
};

function timesBy<Value>(valueOf: (name: (typeof TIMES)[number]) => Value): Times<Value> {
  return { delay: valueOf("delay"), execution: valueOf("execution"), coldStart: valueOf("coldStart") };
}
