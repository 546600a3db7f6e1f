/** Remembers which job was alone in a worker, and when: then what the worker printed was of that job. */

/** Until the next span begins. */
type Span = { readonly from: number; readonly jobIds: readonly string[] };

/** Jobs may be over before their lines are read, but not by many others. */
const SPANS_MAX = 1_000;
/** In microseconds: so much later than its job's end a line may be stamped by a busy host. */
const LATE_MAX = 2_000_000;

export class SoleJobs {
  #spans: Span[] = [];

  /** From now on, in microseconds, these are in the worker. */
  record(jobIds: readonly string[], now: number): void {
    const last = this.#spans.at(-1)?.jobIds ?? [];
    if (last.length === jobIds.length && last.every((jobId, index) => jobId === jobIds[index])) return;
    this.#spans.push({ from: now, jobIds });
    if (this.#spans.length > SPANS_MAX) this.#spans = this.#spans.slice(-SPANS_MAX / 2);
  }

  /**
   * The only job that was in the worker from one time to another, or, when there was none, the last one before:
   * a line may be stamped late. Undefined if there were several.
   */
  during(from: number, to: number): string | undefined {
    const found = new Set<string>();
    let until = Number.POSITIVE_INFINITY;
    for (const span of this.#spans.toReversed()) {
      const earliest = found.size === 0 ? from - LATE_MAX : from;
      if (until <= earliest) break;
      if (span.from <= to) for (const jobId of span.jobIds) found.add(jobId);
      if (found.size > 1) return undefined;
      until = span.from;
    }
    const [jobId] = found;
    return jobId;
  }
}
