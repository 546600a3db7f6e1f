/** The log of one worker: makes lines of what it prints and of what happens to it. */
import type { LogLine } from "../../src/contract/agent/log.ts";
import type { OutputLine, OutputPart } from "../runtime/output.ts";
import { readFacts } from "./line-facts.ts";
import { Masks } from "./masks.ts";
import { SoleJobs } from "./sole-jobs.ts";
import { TokenBucket } from "../async/token-bucket.ts";
import { LINE_BYTES, WorkerLines } from "./worker-lines.ts";

type Reading = { readonly stop: AbortController; readonly ended: Promise<void> };

export class WorkerLog {
  readonly lines: WorkerLines;
  readonly masks = new Masks();
  /** Of the output of its container. */
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
    for (const line of lines) this.lines.add(line.at, this.#lineOf(line), now);
    this.#dropped += dropped;
    this.lines.reached(position);
    if (this.lines.isEmpty) this.reportDropped(); // else with the next batch
  }

  setJobs(jobIds: readonly string[]): void {
    this.#jobs.record(jobIds, micros());
  }

  addEvent(message: string, jobId?: string): void {
    const line = this.masks.apply(message);
    this.lines.add(micros(), { source: "system", line, ...(jobId !== undefined && { jobId }) }, Date.now());
  }

  /** Says how many lines were too many since it was said last. */
  reportDropped(): void {
    if (this.#dropped === 0) return;
    const limit = `${this.#perSecond / 1_000} KB a second`;
    this.addEvent(`${this.#dropped} lines are missing here: the worker printed more than ${limit}.`);
    this.#dropped = 0;
  }

  #lineOf({ at, notBefore, stream, text }: OutputLine): Omit<LogLine, "seq"> {
    const jobId = this.#jobs.during(notBefore, at);
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
