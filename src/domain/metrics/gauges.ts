/** Gauges of an endpoint: workers by what they do, queued and running jobs; and their levels over a span of time. */
import { isBroken, type FleetReport } from "../jobs/queue-reason.ts";

export const GAUGES = [
  "starting",
  "busy",
  "idle",
  "throttled",
  "unhealthy",
  "queued",
  "running",
  "wanted",
] as const;
type GaugeName = (typeof GAUGES)[number];
/** Workers: starting (pulling included), busy (with jobs), idle, throttled (without a place), unhealthy, wanted.
 *  Jobs: queued, running. */
export type Gauges = Readonly<Record<GaugeName, number>>;

const WORKER_GAUGES = ["starting", "throttled", "unhealthy", "wanted"] as const;

export const ZERO_GAUGES = gaugesBy(() => 0);

/** What Fleet reports about workers; it does not split ready workers into busy and idle. */
export type WorkerGauges = Readonly<Record<"starting" | "ready" | "throttled" | "unhealthy", number>>;

export function workerGauges({ workers, missing }: Pick<FleetReport, "workers" | "missing">): WorkerGauges {
  const gauges = { starting: 0, ready: 0, throttled: missing, unhealthy: 0 };
  for (const worker of workers) {
    const { state } = worker;
    if (state === "ready") gauges.ready += 1;
    else if (state === "pulling" || state === "starting") gauges.starting += 1;
    else if (isBroken(worker)) gauges.unhealthy += 1;
  }
  return gauges;
}

export type GaugeRecord = {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly max: readonly number[];
  /** In units times ms, up to `until`. */
  readonly areas: readonly number[];
  readonly until: number;
};

/** The levels of a span, from its beginning on; times are ms of the clock. */
export class GaugeTracker {
  readonly #first: Gauges;
  #last: Gauges;
  #max: Gauges;
  #areas: Gauges = ZERO_GAUGES;
  #until: number;

  constructor(from: number, gauges: Gauges) {
    this.#first = gauges;
    this.#last = gauges;
    this.#max = gauges;
    this.#until = from;
  }

  static from(record: GaugeRecord): GaugeTracker {
    const tracker = new GaugeTracker(record.until, unlisted(record.first));
    tracker.#last = unlisted(record.last);
    tracker.#max = unlisted(record.max);
    tracker.#areas = unlisted(record.areas);
    return tracker;
  }

  /** Levels at the beginning of the span. */
  get first(): Gauges {
    return this.#first;
  }

  /** The latest levels. */
  get last(): Gauges {
    return this.#last;
  }

  get max(): Gauges {
    return this.#max;
  }

  /** From this moment on these levels hold. */
  set(gauges: Gauges, at: number): void {
    this.#areas = this.areasUntil(at);
    this.#until = Math.max(this.#until, at);
    this.#last = gauges;
    this.#max = gaugesBy((name) => Math.max(this.#max[name], gauges[name]));
  }

  /** Adds a later span that ends at `end`. */
  append(from: number, later: GaugeTracker, end: number): void {
    this.set(later.#first, from);
    const areas = later.areasUntil(end);
    this.#areas = gaugesBy((name) => this.#areas[name] + areas[name]);
    this.#max = gaugesBy((name) => Math.max(this.#max[name], later.#max[name]));
    this.#last = later.#last;
    this.#until = end;
  }

  /** Levels times the ms that they lasted, from the beginning of the span to `at`. */
  areasUntil(at: number): Gauges {
    const durationMs = Math.max(0, at - this.#until);
    return gaugesBy((name) => this.#areas[name] + this.#last[name] * durationMs);
  }

  toRecord(): GaugeRecord {
    const { until, areas } = { until: this.#until, areas: listed(this.#areas) };
    return { first: listed(this.#first), last: listed(this.#last), max: listed(this.#max), areas, until };
  }
}

export function isSameGauges(a: Gauges, b: Gauges): boolean {
  return GAUGES.every((name) => a[name] === b[name]);
}

/** Whether each state has as many workers; busy and idle workers count as one state. */
export function isSameWorkers(a: Gauges, b: Gauges): boolean {
  const isSame = WORKER_GAUGES.every((name) => a[name] === b[name]);
  return isSame && a.busy + a.idle === b.busy + b.idle;
}

/** Levels with the members that `valueOf` returns. */
export function gaugesBy(valueOf: (name: GaugeName) => number): Gauges {
  return {
    starting: valueOf("starting"),
    busy: valueOf("busy"),
    idle: valueOf("idle"),
    throttled: valueOf("throttled"),
    unhealthy: valueOf("unhealthy"),
    queued: valueOf("queued"),
    running: valueOf("running"),
    wanted: valueOf("wanted"),
  };
}

function listed(gauges: Gauges): number[] {
  return GAUGES.map((name) => gauges[name]);
}

function unlisted(values: readonly number[]): Gauges {
  return gaugesBy((name) => values[GAUGES.indexOf(name)] ?? 0);
}
