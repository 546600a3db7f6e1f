/**
 * Finds the newest lines among objects that are read from the newest to the oldest.
 *
 * Objects of several workers overlap in time, so a line is sure to be among the newest only when every object
 * that may hold a newer one was read: when it is above the last line of the next object.
 */
import { comparePositions, writePosition, type LogPosition, type PlacedLine } from "./log-lines.ts";

export type LogCut = {
  /** In the order of time. */
  readonly lines: readonly PlacedLine[];
  /** There may be more before this; null when there is nothing. */
  readonly before: LogPosition | null;
};

export class LogCollector {
  readonly #limit: number;
  readonly #lines = new Map<string, PlacedLine>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** A line that comes twice counts once. */
  add(lines: readonly PlacedLine[]): void {
    for (const line of lines) this.#lines.set(writePosition(line), line);
    if (this.#lines.size > 2 * this.#limit + 1_000) this.#forgetOldest();
  }

  /** Whether reading on would change nothing; `nextLast` is the `seq` of the next object's last line. */
  isFull(nextLast: number): boolean {
    let sure = 0;
    for (const { seq } of this.#lines.values()) if (seq > nextLast) sure += 1;
    return sure >= this.#limit;
  }

  /** `nextLast` of the object that was not read any more; undefined when all were. */
  cut(nextLast: number | undefined): LogCut {
    const sure = [...this.#lines.values()]
      .filter(({ seq }) => nextLast === undefined || seq > nextLast)
      .toSorted(comparePositions);
    const lines = sure.slice(-this.#limit);
    const [oldest] = lines;
    if (oldest && lines.length < sure.length) return { lines, before: oldest };
    if (nextLast === undefined) return { lines, before: null };
    // Beyond every position of a line that the unread object may hold.
    return { lines, before: { seq: nextLast + 1, workerId: "-", source: "container" } };
  }

  /** One more than wanted shows that there are more. */
  #forgetOldest(): void {
    const newest = [...this.#lines.values()].toSorted(comparePositions).slice(-(this.#limit + 1));
    this.#lines.clear();
    for (const line of newest) this.#lines.set(writePosition(line), line);
  }
}
