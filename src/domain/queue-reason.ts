/** Why a job waits, in one of the closed list of reasons and one sentence. */
import type { WorkerState } from "../contract/agent.ts";
import type { QueueReason } from "../contract/job.ts";
import { LOW_PRIORITY_EVERY } from "../contract/limits.ts";
import type { Shortage } from "./placement.ts";

export type WorkerSnapshot = {
  readonly workerId: string;
  readonly hostId: string;
  readonly state: WorkerState;
  readonly detail: string | null;
};

/** What Fleet says of an endpoint: its workers, and why a wanted one is not placed. */
export type FleetReport = {
  /** Grows with every report; an older one that arrives late is ignored. */
  readonly revision: number;
  readonly workers: readonly WorkerSnapshot[];
  readonly missing: number;
  readonly shortage: Shortage | null;
};

export const NO_REPORT: FleetReport = { revision: 0, workers: [], missing: 0, shortage: null };

export type WaitingSample = {
  readonly isLowPriority: boolean;
  readonly workersMax: number;
  readonly report: FleetReport;
};

export function explainWait(sample: WaitingSample): { reason: QueueReason; detail: string } {
  const { report, workersMax } = sample;
  if (workersMax === 0) {
    return {
      reason: "workers_max_is_zero",
      detail: "The endpoint's workersMax is 0. Raise it, and the job will run.",
    };
  }
  const ready = report.workers.filter((worker) => worker.state === "ready").length;
  if (ready > 0) return busy(sample.isLowPriority, ready, workersMax);
  return explainStart(report) ?? report.shortage ?? absent(sample.isLowPriority);
}

function explainStart(report: FleetReport): { reason: QueueReason; detail: string } | undefined {
  const find = (...states: readonly WorkerState[]) =>
    report.workers.find((worker) => states.includes(worker.state));

  const pulling = find("pulling");
  if (pulling) return { reason: "image_pulling", detail: pulling.detail ?? "The image is being pulled." };
  const starting = find("starting");
  if (starting) return { reason: "worker_starting", detail: starting.detail ?? "A worker is starting." };
  const broken = find("crash_looping", "unhealthy");
  if (broken) {
    return { reason: "worker_crash_looping", detail: broken.detail ?? "The worker keeps exiting." };
  }
  return undefined;
}

function busy(isLowPriority: boolean, ready: number, workersMax: number) {
  if (isLowPriority) {
    return {
      reason: "low_priority_waiting",
      detail: `Normal jobs go first, ${LOW_PRIORITY_EVERY - 1} of ${LOW_PRIORITY_EVERY}; no worker is added for this one.`,
    } as const;
  }
  const detail =
    ready >= workersMax
      ? `All ${ready} workers (workersMax) are busy with jobs ahead of this one.`
      : `${ready} of at most ${workersMax} workers are up and busy with jobs ahead of this one.`;
  return { reason: "at_max_workers", detail } as const;
}

function absent(isLowPriority: boolean) {
  return isLowPriority
    ? ({
        reason: "low_priority_waiting",
        detail: "No worker is up, and a low-priority job does not start one.",
      } as const)
    : ({ reason: "worker_starting", detail: "A worker has been asked for." } as const);
}
