/** The logs of all workers of this host: what they print, and what happens to them. */
import { ignoreFailure } from "../../src/std/errors.ts";
import type { EdgeContext } from "../edge/edge-context.ts";
import type { Journal, OutputPlace } from "../journal/journal.ts";
import type { OutputPart } from "../runtime/interface/output.ts";
import type { Runtime } from "../runtime/interface/runtime.ts";
import { Schedule } from "../core/schedule.ts";
import { LogShipper } from "./log-shipper.ts";
import { WorkerLog } from "./worker-log.ts";

/** Output of one worker at once. */
export const LOG_BURST_BYTES = 2 * 1_000_000;

/** Output of one worker; lines above it are dropped and counted. */
const LOG_BYTES_PER_SECOND = 100_000;

export type WorkerLogsOptions = EdgeContext & { readonly runtime: Runtime; readonly journal: Journal };

/** The worker whose output is read. */
export type LoggedWorker = { readonly workerId: string; readonly endpointId: string };

/** Time for the last output of an ended worker to be read. */
const FINISH_MS = 2_000;

export class WorkerLogs {
  readonly #options: WorkerLogsOptions;
  readonly #shipper: LogShipper;
  readonly #logs = new Map<string, WorkerLog>();
  readonly #forgetting = new Schedule(() => this.#eachLog(({ lines }) => this.#forgetIfOver(lines.workerId)));

  constructor(options: WorkerLogsOptions) {
    this.#options = options;
    options.signal.addEventListener("abort", () => this.#forgetting.cancel());
    this.#shipper = new LogShipper({
      ...options,
      workers: () => [...this.#logs.values()].map(({ lines }) => lines),
      onBatch: () => this.#eachLog((log) => log.reportDropped()),
      onSent: (lines) => {
        const place = lines.settled(Date.now());
        if (place) this.#savePlace(lines.workerId, place);
        this.#forgetIfOver(lines.workerId);
      },
    });
  }

  // What workers print

  /** A worker has a new container, whose output is read from its beginning. */
  begin(worker: LoggedWorker): void {
    const log = this.#logOf(worker);
    this.#options.journal.removeOutputPlace(worker.workerId);
    log.lines.clearPlaces();
    this.#read(log, null);
  }

  /** A container of an earlier agent process; its output is read on from where the edge has it. */
  resume(worker: LoggedWorker): void {
    const log = this.#logOf(worker);
    if (log.hasRead) return;
    const place = this.#options.journal.outputPlace(worker.workerId);
    log.lines.resumeFrom(place?.seq ?? 0);
    this.#read(log, place?.position ?? null);
  }

  /** Where it cannot be written, the next agent process sends some lines again, under the same numbers. */
  #savePlace(workerId: string, place: OutputPlace): void {
    const { journal, log } = this.#options;
    try {
      journal.saveOutputPlace(workerId, place);
    } catch (error) {
      log.error("journal_failed", { workerId, reason: String(error) });
    }
  }

  /** The container has ended, and will be removed: reads what it has printed until then. */
  async finish(workerId: string): Promise<void> {
    const log = this.#logs.get(workerId);
    if (!log?.reading) return;
    const timer = setTimeout(() => log.reading?.stop.abort(), FINISH_MS);
    await log.reading.ended;
    clearTimeout(timer);
    log.reading = undefined;
  }

  /** Nothing is left of the worker but lines that the edge does not have. */
  removed(workerId: string): void {
    const log = this.#logs.get(workerId);
    if (!log) return;
    log.isRemoved = true;
    log.reading?.stop.abort();
    this.#forgetIfOver(workerId);
  }

  /** These must not show in what the worker prints. */
  mask(worker: LoggedWorker, values: readonly string[]): void {
    this.#logOf(worker).masks.add(values);
  }

  masked(workerId: string, text: string): string {
    return this.#logs.get(workerId)?.masks.apply(text) ?? text;
  }

  /** The jobs that may be in a worker now; null while that is not known. */
  setJobs(workerId: string, jobIds: readonly string[] | null): void {
    this.#logs.get(workerId)?.setJobs(jobIds);
  }

  // What happens to workers

  /** Adds a message for users. Does nothing for an unknown worker. */
  addEvent(workerId: string, message: string, more: { endpointId?: string; jobId?: string } = {}): void {
    const { endpointId, jobId } = more;
    const log = endpointId === undefined ? this.#logs.get(workerId) : this.#logOf({ workerId, endpointId });
    if (!log) return;
    if (endpointId !== undefined) log.isRemoved = false; // it is here again
    log.addEvent(message, jobId);
    this.#shipper.changed(log.lines);
  }

  // Followers

  follow(endpointId: string): number {
    return this.#shipper.follow(endpointId);
  }

  setFollow(endpointId: string, follow: number): void {
    this.#shipper.setFollow(endpointId, follow);
  }

  /** The agent ends: the edge gets what is there, if it takes it within the time. */
  async close(timeoutMs: number): Promise<void> {
    this.#eachLog((log) => log.reading?.stop.abort());
    await Promise.all([...this.#logs.values()].map(async (log) => await log.reading?.ended));
    await this.#shipper.close(timeoutMs);
  }

  #read(log: WorkerLog, position: string | null): void {
    log.reading?.stop.abort();
    const stop = new AbortController();
    const { runtime } = this.#options;
    const reader = {
      position,
      admits: (bytes: number) => log.admits(bytes),
      onPart: (part: OutputPart) => {
        if (stop.signal.aborted) return;
        log.take(part);
        this.#shipper.changed(log.lines);
      },
      signal: stop.signal,
    };
    const ended = runtime.output(log.lines.workerId, reader).catch(ignoreFailure); // a worker's log is not worth its life
    log.reading = { stop, ended };
    log.hasRead = true;
  }

  #logOf({ workerId, endpointId }: LoggedWorker): WorkerLog {
    const known = this.#logs.get(workerId);
    if (known) return known;
    const log = new WorkerLog(
      { workerId, endpointId },
      { perSecond: LOG_BYTES_PER_SECOND, burst: LOG_BURST_BYTES },
    );
    this.#logs.set(workerId, log);
    if (this.follow(endpointId) > 0) log.lines.beginLive(Date.now());
    return log;
  }

  #forgetIfOver(workerId: string): void {
    const log = this.#logs.get(workerId);
    if (!log?.isRemoved || !log.lines.isEmpty) return;
    this.#options.journal.removeOutputPlace(workerId);
    // Who has begun to follow before these lines were stored gets them at once, when that is known here.
    const overlapMs = log.lines.overlapMs(Date.now());
    if (overlapMs === 0) this.#logs.delete(workerId);
    else if (!this.#options.signal.aborted) this.#forgetting.within(overlapMs);
  }

  #eachLog(act: (log: WorkerLog) => void): void {
    for (const log of this.#logs.values()) act(log);
  }
}
