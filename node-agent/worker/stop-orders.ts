import type { StopReason } from "../../src/contract/agent.ts";
import type { AgentLog } from "../log.ts";
import type { Timing } from "../timing.ts";
import { ParkedPolls, type Poll } from "../worker-server/poll.ts";
import type { DeliveredJob } from "./delivered-job.ts";

export type StopOrdersOptions = {
  readonly log: AgentLog;
  readonly timing: Timing;
  readonly jobsInside: () => readonly DeliveredJob[];
  /** Makes the worker poll for jobs anew: a stopped handler posts nothing, but that poll shows that it is over. */
  readonly askAnew: () => void;
  readonly onGraceOver: () => void;
};

/**
 * A worker that was answered with no job at all rests for a second, in which it cannot be told to stop. This id,
 * which no job ever has, spares it the rest.
 */
const NO_JOB = JSON.stringify({ jobsToStop: ["none"] });

/** Tells the handlers of one worker to stop, through its stop polls. */
export class StopOrders {
  readonly #options: StopOrdersOptions;
  readonly #polls = new ParkedPolls<null>(
    () => {},
    (poll) => void poll.send(NO_JOB),
  );

  constructor(options: StopOrdersOptions) {
    this.#options = options;
  }

  begin(job: DeliveredJob, reason: StopReason | "failed"): void {
    if (job.stop) return;
    const { log, timing, onGraceOver } = this.#options;
    const { jobId, workerId } = job.ref;
    log.info("job_stopped", { jobId, workerId, reason });
    const stop = { reason, isTold: false, isGraceOver: false };
    job.stop = stop;
    job.after(timing.stopGraceMs, () => {
      stop.isGraceOver = true;
      log.warn("job_overstays", { jobId, workerId });
      onGraceOver();
    });
    this.tell();
  }

  park(poll: Poll, holdMs: number): void {
    this.#polls.park(poll, null, holdMs);
    this.tell();
  }

  drop(poll: Poll): void {
    this.#polls.drop(poll);
  }

  releaseAll(): void {
    this.#polls.releaseAll();
  }

  /** Answers a parked poll with all jobs inside the worker that it was not yet told to stop. */
  tell(): void {
    const untold = this.#options
      .jobsInside()
      .filter((job) => job.stop && !job.stop.isTold && job.deliveredAt !== null);
    const poll = untold.length > 0 ? this.#polls.shift()?.poll : undefined;
    if (!poll) return;
    setTold(untold, true);
    const body = JSON.stringify({ jobsToStop: untold.map((job) => job.ref.jobId) });
    void poll.send(body).then((isWritten) => {
      if (isWritten) return this.#followUp(untold);
      setTold(untold, false);
      this.tell();
    });
  }

  #followUp(jobs: readonly DeliveredJob[]): void {
    const { timing, askAnew } = this.#options;
    for (const job of jobs) {
      job.after(timing.stopLookMs, askAnew);
      const earlyMs = (job.deliveredAt ?? 0) + timing.begunAfterMs - Date.now();
      if (earlyMs > 0) job.after(earlyMs, () => this.#tellAgain(job));
    }
  }

  #tellAgain(job: DeliveredJob): void {
    setTold([job], false);
    this.tell();
  }
}

function setTold(jobs: readonly DeliveredJob[], isTold: boolean): void {
  for (const job of jobs) if (job.stop) job.stop.isTold = isTold;
}
