/** How far a reader of logs has read: for each worker and source, the last line that it has. */
import { comparePositions, type WorkerLogLine } from "./log-lines.ts";
import { SEQ_PER_MS } from "./log-key.ts";

/** Workers of one endpoint send independently; a line is this much later than a younger one of another at most. */
const LATE_MAX = 5 * 60_000 * SEQ_PER_MS;

const SHAPE = /^\d{1,16}(;(container|system)\.[A-Za-z0-9_-]+\.\d{1,16})*$/;
/** What follows the time of a line; a lone number is not ours. */
const AFTER_TIME = /^[\dTZ:.-]{20,30}\/(\d{1,16};.*)$/;

export class LogProgress {
  /** For workers and sources that are not in `#seen`. */
  readonly #floor: number;
  readonly #seen: Map<string, number>;

  constructor(floor: number, seen: ReadonlyMap<string, number> = new Map()) {
    this.#floor = floor;
    this.#seen = new Map(seen);
  }

  /** Parses what `write` wrote, after `<time>/` or alone; undefined for anything else. */
  static read(value: string): LogProgress | undefined {
    const written = AFTER_TIME.exec(value)?.[1] ?? value;
    if (!SHAPE.test(written)) return undefined;
    const [floor, ...entries] = written.split(";");
    const seen = entries.map((entry): [string, number] => {
      const at = entry.lastIndexOf(".");
      return [entry.slice(0, at), Number(entry.slice(at + 1))];
    });
    return new LogProgress(Number(floor), new Map(seen));
  }

  write(): string {
    return [this.#floor, ...[...this.#seen].map(([who, seq]) => `${who}.${seq}`)].join(";");
  }

  /** All lines that the reader lacks are above this. */
  get from(): number {
    return Math.max(this.#floor, Math.max(0, ...this.#seen.values()) - LATE_MAX);
  }

  /** The lines that are new to the reader, in the order of time; they count as read from now on. */
  take<Line extends WorkerLogLine>(lines: readonly Line[]): Line[] {
    return lines.toSorted(comparePositions).filter((line) => {
      const who = `${line.source}.${line.workerId}`;
      if (line.seq <= (this.#seen.get(who) ?? this.#floor)) return false;
      this.#seen.set(who, line.seq);
      return true;
    });
  }
}
