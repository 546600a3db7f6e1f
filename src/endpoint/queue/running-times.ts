/**
 * What agents reported of the running attempts, for their timelines. In memory only: what an eviction loses of a running
 * attempt, the next exchange and the report of Fleet bring again.
 */
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import { UNKNOWN_TIMES, type AttemptTimes, type WorkerStart } from "../../domain/jobs/timeline.ts";
import type { RunningAttempt } from "../messages.ts";
import type { Lease } from "./claims.ts";

type Handler = Omit<AttemptTimes, "workerStart"> & { readonly attempt: number };

export class RunningTimes {
  readonly #handlers = new Map<number, Handler>();
  /** Also of workers that are gone, until their jobs have ended. */
  #starts = new Map<string, WorkerStart>();

  /** Takes over when the workers of the endpoint started; forgets those that are gone and have no job. */
  learn(report: FleetReport, running: Iterable<Lease>): void {
    const starts = new Map<string, WorkerStart>();
    for (const { workerId } of running) {
      const known = this.#starts.get(workerId);
      if (known) starts.set(workerId, known);
    }
    for (const { workerId, start } of report.workers) if (start) starts.set(workerId, start);
    this.#starts = starts;
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
    const workerStart = this.#starts.get(workerId ?? "") ?? null;
    if (handler?.attempt !== attempt) return { ...UNKNOWN_TIMES, workerStart };
    return { ...handler, workerStart };
  }

  forget(seq: number): void {
    this.#handlers.delete(seq);
  }
}
