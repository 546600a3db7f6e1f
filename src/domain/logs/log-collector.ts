/**
 * Finds the newest lines among objects that are read from the newest to the oldest.
 *
 * Objects of several workers overlap in time, so a line is sure to be among the newest only when every object
 * that may hold a newer one was read: when it is above the last line of the next object.
 */
import { comparePositions, writePosition, type LogPosition, type WorkerLogLine } from "./log-lines.ts";

/** Size of the lines of one page; a page cut by it has fewer lines than requested, and a cursor. */
export const LOG_PAGE_MAX_BYTES = 8_000_000;

export type LogCut = {
  /** In the order of time. */
  readonly lines: readonly WorkerLogLine[];
  /** There may be more before this; null when there is nothing. */
  readonly before: LogPosition | null;
};

/** What a line takes beside its text. */
const LINE_BYTES = 200;

export class LogCollector {
  readonly #limit: number;
  readonly #maxBytes: number;
  readonly #lines = new Map<string, WorkerLogLine>();
  #bytes = 0;

  /** A page has at most `limit` lines, and no more once their texts have `maxBytes` together. */
  constructor(limit: number, maxBytes = LOG_PAGE_MAX_BYTES) {
    this.#limit = limit;
    this.#maxBytes = maxBytes;
  }

  /** A line that was read twice counts once, with its job: an agent that has read it again may not know that any more. */
  add(lines: Iterable<WorkerLogLine>): void {
    for (const line of lines) {
      const position = writePosition(line);
      const known = this.#lines.get(position);
      if (!known || known.jobId === undefined) this.#lines.set(position, line);
      if (known) continue;
      this.#bytes += bytesOf(line);
      const isMany = this.#lines.size > 2 * this.#limit + 1_000;
      if (isMany || this.#bytes > 2 * this.#maxBytes + LINE_BYTES) this.#forgetOldest();
    }
  }

  /** Whether reading on would change nothing; `nextLast` is the `seq` of the next object's last line. */
  isFull(nextLast: number): boolean {
    let [sure, bytes] = [0, 0];
    for (const line of this.#lines.values()) {
      if (line.seq <= nextLast) continue;
      sure += 1;
      bytes += bytesOf(line);
    }
    return sure >= this.#limit || bytes >= this.#maxBytes;
  }

  /** `nextLast` of the object that was not read any more; undefined when all were. */
  cut(nextLast: number | undefined): LogCut {
    const sure = [...this.#lines.values()]
      .filter(({ seq }) => nextLast === undefined || seq > nextLast)
      .toSorted(comparePositions);
    const lines = this.#newest(sure);
    const [oldest] = lines;
    if (oldest && lines.length < sure.length) return { lines, before: oldest };
    if (nextLast === undefined) return { lines, before: null };
    // Beyond every position of a line that the unread object may hold.
    return { lines, before: { seq: nextLast + 1, workerId: "-", source: "container" } };
  }

  /** The end of the lines, as much of it as a page may hold, and one line at least. */
  #newest(sorted: readonly WorkerLogLine[]): WorkerLogLine[] {
    let [begin, bytes] = [sorted.length, 0];
    while (begin > 0 && sorted.length - begin < this.#limit) {
      bytes += bytesOf(sorted[begin - 1]);
      if (bytes > this.#maxBytes && begin < sorted.length) break;
      begin -= 1;
    }
    return sorted.slice(begin);
  }

  /** One more than wanted shows that there are more. */
  #forgetOldest(): void {
    const sorted = [...this.#lines.values()].toSorted(comparePositions);
    const retained = sorted.slice(-(this.#newest(sorted).length + 1));
    this.#lines.clear();
    this.#bytes = 0;
    for (const line of retained) {
      this.#lines.set(writePosition(line), line);
      this.#bytes += bytesOf(line);
    }
  }
}

function bytesOf(line: WorkerLogLine | undefined): number {
  return LINE_BYTES + (line?.line.length ?? 0);
}
