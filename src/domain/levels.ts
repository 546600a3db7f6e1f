/** How many of something there are: workers by what they do, jobs that wait, and how that went over a span of time. */
import type { FleetReport } from "./queue-reason.ts";

export const LEVELS = [
  "starting",
  "busy",
  "idle",
  "throttled",
  "unhealthy",
  "queued",
  "running",
  "wanted",
] as const;
type Level = (typeof LEVELS)[number];
/** Workers: starting (pulling included), busy (with jobs), idle, throttled (without a place), unhealthy, wanted.
 *  Jobs: queued, running. */
export type Levels = Readonly<Record<Level, number>>;

const WORKER_LEVELS = ["starting", "throttled", "unhealthy", "wanted"] as const;

export const NO_LEVELS = levelsBy(() => 0);

/** What Fleet's report says of workers; those that are ready are not told apart yet. */
export type WorkerLevels = Readonly<Record<"starting" | "ready" | "throttled" | "unhealthy", number>>;

export function workerLevels({ workers, missing }: FleetReport): WorkerLevels {
  const levels = { starting: 0, ready: 0, throttled: missing, unhealthy: 0 };
  for (const { state } of workers) {
    if (state === "ready") levels.ready += 1;
    else if (state === "pulling" || state === "starting") levels.starting += 1;
    else if (state === "unhealthy" || state === "crash_looping") levels.unhealthy += 1;
  }
  return levels;
}

export type LevelRecord = {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly max: readonly number[];
  /** In units times ms, up to `until`. */
  readonly areas: readonly number[];
  readonly until: number;
};

/** The levels of a span, from its beginning on; times are ms of the clock. */
export class LevelTrack {
  readonly #first: Levels;
  #last: Levels;
  #max: Levels;
  #areas: Levels = NO_LEVELS;
  #until: number;

  constructor(from: number, levels: Levels) {
    this.#first = levels;
    this.#last = levels;
    this.#max = levels;
    this.#until = from;
  }

  static from(record: LevelRecord): LevelTrack {
    const track = new LevelTrack(record.until, unlisted(record.first));
    track.#last = unlisted(record.last);
    track.#max = unlisted(record.max);
    track.#areas = unlisted(record.areas);
    return track;
  }

  /** What held at the beginning of the span. */
  get first(): Levels {
    return this.#first;
  }

  /** What held last. */
  get last(): Levels {
    return this.#last;
  }

  get max(): Levels {
    return this.#max;
  }

  /** From this moment on these levels hold. */
  set(levels: Levels, at: number): void {
    this.#areas = this.areasUntil(at);
    this.#until = Math.max(this.#until, at);
    this.#last = levels;
    this.#max = levelsBy((name) => Math.max(this.#max[name], levels[name]));
  }

  /** Takes over a later span that ends at `end`. */
  append(from: number, later: LevelTrack, end: number): void {
    this.set(later.#first, from);
    const areas = later.areasUntil(end);
    this.#areas = levelsBy((name) => this.#areas[name] + areas[name]);
    this.#max = levelsBy((name) => Math.max(this.#max[name], later.#max[name]));
    this.#last = later.#last;
    this.#until = end;
  }

  /** Levels times the ms that they held, from the beginning of the span to `at`. */
  areasUntil(at: number): Levels {
    const heldMs = Math.max(0, at - this.#until);
    return levelsBy((name) => this.#areas[name] + this.#last[name] * heldMs);
  }

  toRecord(): LevelRecord {
    const { until, areas } = { until: this.#until, areas: listed(this.#areas) };
    return { first: listed(this.#first), last: listed(this.#last), max: listed(this.#max), areas, until };
  }
}

export function isSameLevels(a: Levels, b: Levels): boolean {
  return LEVELS.every((name) => a[name] === b[name]);
}

/** As many workers in each of their states, whether they have jobs or not. */
export function isSameWorkers(a: Levels, b: Levels): boolean {
  const isSame = WORKER_LEVELS.every((name) => a[name] === b[name]);
  return isSame && a.busy + a.idle === b.busy + b.idle;
}

/** Levels whose members `valueOf` says. */
export function levelsBy(valueOf: (name: Level) => number): Levels {
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

function listed(levels: Levels): number[] {
  return LEVELS.map((name) => levels[name]);
}

function unlisted(values: readonly number[]): Levels {
  return levelsBy((name) => values[LEVELS.indexOf(name)] ?? 0);
}
