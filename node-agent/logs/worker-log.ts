/** The log of one worker: makes lines of what it prints and of what happens to it. */
import { type LogLine, LOG_FIELD_MAX_CHARACTERS } from "../../src/contract/agent/log.ts";
import type { OutputLine, OutputPart } from "../runtime/interface/output.ts";
import { TokenBucket } from "../core/token-bucket.ts";
import { LINE_BYTES, WorkerLines } from "./worker-lines.ts";

type Reading = { readonly stop: AbortController; readonly ended: Promise<void> };

export class WorkerLog {
  readonly lines: WorkerLines;
  readonly masks = new Masks();
  /** How the output of its container is read. */
  reading: Reading | undefined;
  /** Some output was read: it can not be read on from where the edge has it. */
  hasRead = false;
  isRemoved = false;
  readonly #rate: TokenBucket;
  readonly #perSecond: number;
  readonly #jobs = new SoleJobs();
  #dropped = 0;

  constructor(
    worker: { readonly workerId: string; readonly endpointId: string },
    rate: { readonly perSecond: number; readonly burst: number },
  ) {
    this.lines = new WorkerLines(worker, Date.now());
    this.#rate = new TokenBucket(rate, Date.now());
    this.#perSecond = rate.perSecond;
  }

  admits(bytes: number): boolean {
    return this.#rate.take(bytes + LINE_BYTES, Date.now());
  }

  take({ lines, dropped, position }: OutputPart): void {
    const now = Date.now();
    this.#jobs.noticeClock(micros(), elapsedMicros());
    for (const line of lines) this.lines.add(line.at, this.#lineOf(line), now);
    this.#dropped += dropped;
    this.lines.reached(position);
    if (this.lines.isEmpty) this.reportDropped(); // else with the next batch
  }

  setJobs(jobIds: readonly string[] | null): void {
    this.#jobs.noticeClock(micros(), elapsedMicros());
    this.#jobs.record(jobIds, micros());
  }

  addEvent(message: string, jobId?: string): void {
    const line = this.masks.apply(message);
    this.lines.add(micros(), { source: "system", line, ...(jobId !== undefined && { jobId }) }, Date.now());
  }

  /** Adds a line with the number of lines dropped since the last such line. */
  reportDropped(): void {
    if (this.#dropped === 0) return;
    const limit = `${this.#perSecond / 1_000} KB a second`;
    this.addEvent(`${this.#dropped} lines are missing here: the worker printed more than ${limit}.`);
    this.#dropped = 0;
  }

  #lineOf({ at, notBefore, stream, text }: OutputLine): Omit<LogLine, "seq"> {
    const isOfEarlierClock = at > micros() + CLOCK_STEP; // it was set back since
    const jobId = isOfEarlierClock ? undefined : this.#jobs.during(notBefore, at);
    return {
      source: "container",
      ...(stream && { stream }),
      line: this.masks.apply(text),
      ...(jobId !== undefined && { jobId }),
      ...readFacts(text),
    };
  }
}

/** The time in microseconds since 1970. */
function micros(): number {
  return Date.now() * 1_000; // the clock of this host, as the runtime stamps lines
}

/** In microseconds, of a clock that nobody sets. */
function elapsedMicros(): number {
  return performance.now() * 1_000;
}

export type LineFacts = { readonly jobId?: string; readonly level?: string };

export function readFacts(text: string): LineFacts {
  if (!text.startsWith("{") || !text.includes('"level"')) return {};
  try {
    const { requestId, level } = JSON.parse(text) as Record<string, unknown>;
    return { ...(isWord(requestId) && { jobId: requestId }), ...(isWord(level) && { level }) };
  } catch {
    return {};
  }
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= LOG_FIELD_MAX_CHARACTERS;
}

/** Keeps secrets out of lines. */

/** A shorter value would blot out what is no secret. */
const VALUE_MIN_LENGTH = 8;
const MASK = "[secret]";

export class Masks {
  /** The longest first, since one may hold another. */
  #values: readonly string[] = [];

  /** Adds values that the worker knows from now on; earlier ones stay masked, since it may still print them. */
  add(values: readonly string[]): void {
    const lines = values.flatMap((value) => value.split(/\r?\n/));
    const all = new Set([...this.#values, ...lines.filter((line) => line.length >= VALUE_MIN_LENGTH)]);
    this.#values = [...all].toSorted((one, other) => other.length - one.length);
  }

  apply(text: string): string {
    let masked = text;
    for (const value of this.#values) {
      if (masked.includes(value)) masked = masked.replaceAll(value, MASK);
    }
    return masked;
  }
}

/** Remembers which job was alone in a worker, and when: then what the worker printed was of that job. */

/** Until the next span begins. `jobIds`: null where it is not known which jobs the worker had. */
type Span = { readonly from: number; readonly jobIds: readonly string[] | null };

/** Jobs may be over before their lines are read, but not by many others. */
const SPANS_MAX = 1_000;
/** In microseconds: so much later than its job's end a line may be stamped by a busy host. */
const LATE_MAX = 2_000_000;
/** In microseconds: spans begin at whole milliseconds of the clock, and may have begun so much later. */
const CLOCK_STEP = 1_000;
/** In microseconds, and as a share of the time: so far two clocks that nobody sets may come apart. */
const CLOCK_DRIFT_MAX = 1_000_000;
const CLOCK_RATE_MAX = 0.001;

export class SoleJobs {
  #spans: Span[] = [];
  /** What the clock of the host has shown, and one that nobody sets. */
  #clock: { readonly shown: number; readonly elapsed: number } | undefined;

  /** If the clock was set, it has shown or will show times at which there were other jobs: those before are not known. */
  noticeClock(shown: number, elapsed: number): void {
    const before = this.#clock ?? { shown, elapsed };
    this.#clock = { shown, elapsed };
    const passed = elapsed - before.elapsed;
    const isSet = Math.abs(shown - before.shown - passed) > CLOCK_DRIFT_MAX + passed * CLOCK_RATE_MAX;
    if (!isSet && shown >= before.shown) return;
    const jobIds = this.#spans.at(-1)?.jobIds ?? [];
    this.#spans = [
      { from: 0, jobIds: null },
      { from: shown, jobIds },
    ];
  }

  /** From now on, in microseconds, these are in the worker; null: it is not known which. */
  record(jobIds: readonly string[] | null, now: number): void {
    const last = this.#spans.at(-1);
    if (isSame(last ? last.jobIds : [], jobIds)) return;
    this.#spans.push({ from: now, jobIds });
    if (this.#spans.length > SPANS_MAX) this.#spans = this.#spans.slice(-SPANS_MAX / 2);
  }

  /**
   * The only job that was in the worker from one time to another, or, when there was none, the last one before:
   * a line may be stamped late. Undefined if there were several, or if there may have been.
   */
  during(from: number, to: number): string | undefined {
    const found = new Set<string>();
    let until = Number.POSITIVE_INFINITY;
    for (const span of this.#spans.toReversed()) {
      const earliest = from - (found.size === 0 ? LATE_MAX : CLOCK_STEP);
      if (until <= earliest) break;
      if (span.from <= to) {
        if (span.jobIds === null) return undefined;
        for (const jobId of span.jobIds) found.add(jobId);
      }
      if (found.size > 1) return undefined;
      until = span.from;
    }
    const [jobId] = found;
    return jobId;
  }
}

function isSame(one: Span["jobIds"], other: Span["jobIds"]): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((jobId, index) => jobId === other[index]);
}
