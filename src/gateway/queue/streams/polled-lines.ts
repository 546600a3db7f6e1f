/** New log lines of a pod, read as they are stored: no object passes them on, and agents know no followers of pods. */
import { LOG_PAGE_MAX } from "../../../contract/agent/log.ts";
import { SEQ_PER_MS } from "../../../domain/logs/log-key.ts";
import type { WorkerLogLine } from "../../../domain/logs/log-lines.ts";
import { findLines, type LogSearch } from "../../../management/logs/log-reader.ts";
import { LOG_AHEAD_MAX_MS } from "../../../management/logs/log-retention.ts";

const POLL_MS = 2_000;
/** A line is stored this much later than it was written at most, unless its host was away. */
const LATE_MAX_MS = 60_000;

export class PolledLines {
  readonly #bucket: R2Bucket;
  readonly #search: LogSearch;
  #latestSeq: number;
  #isOver = false;
  #wake: () => void = () => {};

  constructor(bucket: R2Bucket, search: LogSearch, signal: AbortSignal) {
    this.#bucket = bucket;
    this.#search = search;
    this.#latestSeq = Date.now() * SEQ_PER_MS;
    signal.addEventListener("abort", () => this.end());
    if (signal.aborted) this.end();
  }

  /** Lines that may be new; the caller knows those that it has. Undefined when no more will come. */
  async next(untilAt: number): Promise<readonly WorkerLogLine[] | undefined> {
    if (!this.#isOver) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const timer = setTimeout(resolve, Math.max(0, Math.min(POLL_MS, untilAt - Date.now())));
      await promise;
      clearTimeout(timer);
    }
    if (this.#isOver) return undefined;
    const from = Math.max(this.#search.from, this.#latestSeq - LATE_MAX_MS * SEQ_PER_MS);
    const before = { ...this.#search.before, seq: (Date.now() + LOG_AHEAD_MAX_MS) * SEQ_PER_MS };
    const { lines } = await findLines(this.#bucket, { ...this.#search, from, before, limit: LOG_PAGE_MAX });
    this.#latestSeq = Math.max(this.#latestSeq, lines.at(-1)?.seq ?? 0);
    return lines;
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }
}
