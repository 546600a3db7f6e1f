/**
 * What agents reported of the running attempts, for their timelines. In memory only: what an eviction loses of a running
 * attempt, the next exchange and the report of Fleet bring again.
 */
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import { hasWaitedFor, UNKNOWN_TIMES, type AttemptTimes } from "../../domain/jobs/timeline.ts";
import type { WorkerStart } from "../../domain/jobs/worker-start.ts";
import type { StoredJob } from "../../domain/jobs/job-machine.ts";
import type { RunningAttempt } from "../messages.ts";
import type { Lease } from "./claims.ts";

type Handler = Pick<AttemptTimes, "handlerStartedAt" | "handlerFinishedAt"> & { readonly attempt: number };

type KnownWorker = {
  readonly start: WorkerStart | null;
  readonly placedAt: number | undefined;
  readonly perHour: number | undefined;
  readonly startingMs: number | undefined;
};

export class RunningTimes {
  readonly #handlers = new Map<number, Handler>();
  /** Also those that are gone, until their jobs have ended. */
  #workers = new Map<string, KnownWorker>();
  /** Workers whose start a job has caused: when they were ready. */
  readonly #caused = new Map<string, number | null>();

  /** Takes over starts and prices of the endpoint's workers; forgets those that are gone and have no job. */
  learn(report: FleetReport, running: Iterable<Lease>): void {
    const workers = new Map<string, KnownWorker>();
    for (const { workerId } of running) {
      const known = this.#workers.get(workerId);
      if (known) workers.set(workerId, known);
    }
    for (const { workerId, start: reported = null, placedAt, perHour, startingMs } of report.workers) {
      const start = reported ?? workers.get(workerId)?.start ?? null;
      workers.set(workerId, { start, placedAt, perHour, startingMs });
    }
    this.#workers = workers;
    for (const workerId of this.#caused.keys()) if (!workers.has(workerId)) this.#caused.delete(workerId);
  }

  /** The attempt of a job has ended: the start of its worker, if it waited for that, counts for no other job. */
  ended(job: StoredJob): void {
    const { workerId } = job;
    const start = (workerId !== null && this.#workers.get(workerId)?.start) || null;
    if (workerId !== null && start && hasWaitedFor(job, start))
      this.#caused.set(workerId, start.readyAt ?? null);
  }

  /** An agent reports when the handler of an attempt began and ended, which cannot be before the claim. */
  record(lease: Lease, attempt: RunningAttempt, now: number): void {
    const within = (at: number | null) => at && Math.min(Math.max(at, lease.startedAt), now);
    const known = this.#handlers.get(lease.seq);
    const startedAt = known?.attempt === lease.attempt ? known.handlerStartedAt : null;
    this.#handlers.set(lease.seq, {
      attempt: lease.attempt,
      handlerStartedAt: startedAt ?? within(attempt.handlerStartedAt ?? null),
      handlerFinishedAt: within(attempt.handlerFinishedAt ?? null),
    });
  }

  /** What is known of a running attempt. */
  of(seq: number, attempt: number, workerId: string | null): AttemptTimes {
    const handler = this.#handlers.get(seq);
    const worker = this.#workers.get(workerId ?? "");
    const workerStart = worker?.start ?? null;
    const isFree = workerStart !== null && this.#caused.get(workerId ?? "") !== (workerStart.readyAt ?? null);
    const known = {
      workerStart,
      placedAt: worker?.placedAt,
      perHour: worker?.perHour,
      startingMs: isFree ? worker?.startingMs : undefined,
    };
    if (handler?.attempt !== attempt) return { ...UNKNOWN_TIMES, ...known };
    return { ...handler, ...known };
  }

  forget(seq: number): void {
    this.#handlers.delete(seq);
  }
}
