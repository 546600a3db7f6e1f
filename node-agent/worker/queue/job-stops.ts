import type { StopReason } from "../../../src/contract/agent/agent.ts";
import type { AgentLog } from "../../core/log.ts";
import type { Timing } from "../../core/timing.ts";
import { PollQueue, type Poll } from "../../worker-server/poll.ts";
import type { DeliveredJob } from "./delivered-job.ts";

export type JobStopsOptions = {
  readonly log: AgentLog;
  readonly timing: Timing;
  readonly jobsInside: () => readonly DeliveredJob[];
  /** Makes the worker poll again: a stopped handler posts nothing, but that poll shows that it has ended. */
  readonly requestPoll: () => void;
  readonly onGraceOver: () => void;
};

/**
 * A worker whose poll is answered with no job at all pauses for a second, in which no stop reaches it. This id,
 * which no job ever has, avoids that pause.
 */
const NO_JOB = JSON.stringify({ jobsToStop: ["none"] });

/** Stops the handlers of one worker, through its stop polls. */
export class JobStops {
  readonly #options: JobStopsOptions;
  readonly #polls = new PollQueue<null>(
    () => {},
    (poll) => void poll.send(NO_JOB),
  );

  constructor(options: JobStopsOptions) {
    this.#options = options;
  }

  begin(job: DeliveredJob, reason: StopReason | "failed"): void {
    if (job.stop) return;
    const { log, timing, onGraceOver } = this.#options;
    const { jobId, workerId } = job.ref;
    log.info("job_stopped", { jobId, workerId, reason });
    const stop = { reason, isSent: false, isRepeated: false, isGraceOver: false };
    job.stop = stop;
    job.after(timing.stopGraceMs, () => {
      stop.isGraceOver = true;
      log.warn("job_overstays", { jobId, workerId });
      onGraceOver();
    });
    this.flush();
  }

  add(poll: Poll, holdMs: number): void {
    this.#polls.add(poll, null, holdMs);
    this.flush();
  }

  drop(poll: Poll): void {
    this.#polls.drop(poll);
  }

  endPolls(): void {
    this.#polls.endAll();
  }

  /** Answers a parked poll with all jobs inside the worker whose stop it has not received yet. */
  flush(): void {
    const unsent = this.#options
      .jobsInside()
      .filter((job) => job.stop && !job.stop.isSent && job.deliveredAt !== null);
    const poll = unsent.length > 0 ? this.#polls.shift()?.poll : undefined;
    if (!poll) return;
    setSent(unsent, true);
    const body = JSON.stringify({ jobsToStop: unsent.map((job) => job.ref.jobId) });
    void poll.send(body).then((isWritten) => {
      if (isWritten) return this.#followUp(unsent);
      setSent(unsent, false);
      this.flush();
    });
  }

  #followUp(jobs: readonly DeliveredJob[]): void {
    const { timing, requestPoll } = this.#options;
    for (const job of jobs) {
      job.after(timing.stopCheckMs, requestPoll);
      const earlyMs = (job.deliveredAt ?? 0) + timing.begunAfterMs - performance.now();
      // A timer may ring a little early, so the time alone does not tell that this was the second time.
      if (earlyMs > 0 && job.stop?.isRepeated === false) job.after(earlyMs, () => this.#resend(job));
    }
  }

  #resend(job: DeliveredJob): void {
    if (job.stop) job.stop.isRepeated = true;
    setSent([job], false);
    this.flush();
  }
}

function setSent(jobs: readonly DeliveredJob[], isSent: boolean): void {
  for (const job of jobs) if (job.stop) job.stop.isSent = isSent;
}
