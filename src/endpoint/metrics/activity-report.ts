/** What the endpoint did within a window, as the metrics API shows it. */
import { COLD_START_PARTS } from "../../contract/job.ts";
import type { Durations, RequestMetrics, WorkerMetrics } from "../../contract/metrics.ts";
import type { MetricsWindow } from "../../contract/metrics-window.ts";
import {
  spansOf,
  sumOf,
  type Activity,
  type ActivitySegment,
  type Grid,
} from "../../domain/metrics/activity.ts";
import { Histogram } from "../../domain/metrics/histogram.ts";
import { gaugesBy } from "../../domain/metrics/gauges.ts";
import { HOUR_MS, MINUTE_MS, type ActivityCounters } from "./activity-counters.ts";
import type { ActivityReport, JobHour } from "../messages.ts";

/** Windows end with the current minute or hour. */
const WINDOWS: Readonly<Record<MetricsWindow, Omit<Grid, "from">>> = {
  "5m": { stepMs: MINUTE_MS, count: 5 },
  "1h": { stepMs: MINUTE_MS, count: 60 },
  "24h": { stepMs: HOUR_MS, count: 24 },
  "7d": { stepMs: HOUR_MS, count: 168 },
};

export function reportActivity(
  counters: ActivityCounters,
  window: MetricsWindow,
  elsewhere: readonly Activity[],
  now: number,
): ActivityReport {
  const { stepMs, count } = WINDOWS[window];
  const from = windowFrom(window, now);
  const parts = segmentsSince(counters, window, from);
  const spans = spansOf(parts, { from, stepMs, count }, counters.levels, now);
  for (const other of elsewhere) spans[Math.floor((other.from - from) / stepMs)]?.addJobs(other);
  const about = { window, from, to: now, stepMs };
  const sum = sumOf(spans, stepMs, now);
  return {
    requests: {
      ...about,
      ...describeJobs(sum),
      coldStartParts: describeParts(sum),
      requestsPerMinute: sum.counts.requests / ((now - from) / MINUTE_MS || 1),
      points: spans.map((span) => ({ at: span.from, ...describeJobs(span) })),
    },
    workers: {
      ...about,
      now: counters.levels,
      points: spans.map((span) => describeGauges(span, Math.min(span.from + stepMs, now))),
    },
  };
}

/** When a window begins, epoch ms. */
export function windowFrom(window: MetricsWindow, now: number): number {
  const { stepMs, count } = WINDOWS[window];
  return (Math.floor(now / stepMs) - count + 1) * stepMs;
}

/** What is known from then on, as finely as the window needs it. */
export function segmentsSince(
  counters: ActivityCounters,
  window: MetricsWindow,
  from: number,
): ActivitySegment[] {
  return WINDOWS[window].stepMs === MINUTE_MS ? counters.minutesSince(from) : counters.hoursSince(from);
}

/** Those of the first object with what jobs did in others; only the first one knows the workers of all. */
export function sumHours(own: readonly JobHour[], elsewhere: readonly JobHour[]): JobHour[] {
  if (elsewhere.length === 0) return [...own];
  const others = elsewhere.map((hour) => ({ ...hour, busyMs: 0 }));
  const byHour = Map.groupBy([...own, ...others], ({ hour }) => hour);
  return [...byHour.values()].map((hours) => hours.reduce(plus)).toSorted((a, b) => a.hour - b.hour);
}

function plus(a: JobHour, b: JobHour): JobHour {
  const counts = Object.fromEntries(
    Object.entries(a.counts).map(([name, count]) => [
      name,
      count + b.counts[name as keyof JobHour["counts"]],
    ]),
  ) as JobHour["counts"];
  return {
    hour: a.hour,
    counts,
    delayMs: a.delayMs + b.delayMs,
    executionMs: a.executionMs + b.executionMs,
    coldStarts: a.coldStarts + b.coldStarts,
    busyMs: a.busyMs + b.busyMs,
  };
}

/** The hours from `since` on in which anything happened. */
export function reportUsage(counters: ActivityCounters, since: number, now: number): JobHour[] {
  const parts = counters.hoursSince(since).filter(({ activity }) => activity.from >= since);
  const hours = Map.groupBy(parts, ({ activity }) => Math.floor(activity.from / HOUR_MS) * HOUR_MS);
  return [...hours].flatMap(([hour, group]) => {
    const [span] = spansOf(group, { from: hour, stepMs: HOUR_MS, count: 1 }, counters.levels, now);
    if (!span) return [];
    const { delay, execution, coldStart } = span.times;
    const times = { delayMs: delay.sum, executionMs: execution.sum, coldStarts: coldStart.count };
    const { busy: busyMs } = span.gauges.areasUntil(Math.min(hour + HOUR_MS, now));
    return { hour, counts: span.counts, ...times, busyMs };
  });
}

function describeJobs({ counts, times }: Activity) {
  const { timed_out: timedOut, ...rest } = counts;
  return {
    ...rest,
    timedOut,
    delayTime: describe(times.delay),
    executionTime: describe(times.execution),
    coldStartTime: describe(times.coldStart),
  };
}

function describeParts({ coldStartParts }: Activity): RequestMetrics["coldStartParts"] {
  const described = COLD_START_PARTS.map((part) => {
    return [part, describe(coldStartParts.get(part) ?? new Histogram())] as const;
  });
  return Object.fromEntries(described) as RequestMetrics["coldStartParts"];
}

function describe(histogram: Histogram): Durations {
  const quantile = (share: number) => {
    const value = histogram.quantile(share);
    return value === null ? null : Math.round(value);
  };
  const { count, sum } = histogram;
  const mean = count === 0 ? null : Math.round(sum / count);
  return { count, mean, p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99) };
}

function describeGauges({ from, gauges }: Activity, end: number): WorkerMetrics["points"][number] {
  const areas = gauges.areasUntil(end);
  const lengthMs = end - from;
  const mean = gaugesBy((name) => (lengthMs > 0 ? round(areas[name] / lengthMs) : gauges.last[name]));
  return { at: from, mean, max: gauges.max };
}

function round(value: number): number {
  return Number(value.toFixed(3));
}
