/** Why a job waits, in one of the closed list of reasons and one sentence. */
import type { WorkerState } from "../../contract/agent/agent.ts";
import type { QueueReason } from "../../contract/job.ts";
import type { PlacementFailure } from "../placement/host-pool.ts";
import type { WorkerStart } from "./timeline.ts";
import { LOW_PRIORITY_EVERY } from "./priorities.ts";

export type WorkerSnapshot = {
  readonly workerId: string;
  readonly hostId: string;
  readonly state: WorkerState;
  readonly detail: string | null;
  /** Release of the endpoint that it runs. Absent in reports of before. */
  readonly version?: number;
  /** How often it was revived from standby. Absent in reports of before. */
  readonly revivals?: number;
  /** Absent in reports of before. */
  readonly start?: WorkerStart | null;
};

/** What Fleet says of an endpoint: its workers, and why a wanted one is not placed. */
export type FleetReport = {
  /** Grows with every report; an older one that arrives late is ignored. */
  readonly revision: number;
  readonly workers: readonly WorkerSnapshot[];
  readonly missing: number;
  readonly shortage: PlacementFailure | null;
  /** Present while the next worker of a newer release has no place. */
  readonly rollShortage?: RolloutObstacle;
};

/** Why a worker of a newer release has no place, and which older ones would each make room for it by leaving. */
export type RolloutObstacle = {
  readonly shortage: PlacementFailure;
  readonly roomBy: readonly (readonly string[])[];
};

export const NO_REPORT: FleetReport = { revision: 0, workers: [], missing: 0, shortage: null };

export type WaitingSample = {
  readonly isLowPriority: boolean;
  /** What jobs of the endpoint left behind takes so much that none is handed out. */
  readonly isStorageFull: boolean;
  readonly workersMax: number;
  readonly report: FleetReport;
};

/**
 * The first of these that holds: nothing more can be kept; no worker is allowed; one comes up, and how far it is; one cannot come up;
 * there is no place for one; the job itself asks for none; all there are have other jobs.
 */
export function explainWait(sample: WaitingSample): Explanation {
  const { report, workersMax } = sample;
  if (sample.isStorageFull) return STORAGE_FULL;
  if (workersMax === 0) {
    return {
      reason: "workers_max_is_zero",
      detail: "The endpoint's workersMax is 0. Raise it, and the job will run.",
    };
  }
  const ready = report.workers.filter((worker) => worker.state === "ready").length;
  if (ready === 0) {
    return explainStart(report) ?? explainFailure(report) ?? report.shortage ?? absent(sample.isLowPriority);
  }
  if (sample.isLowPriority) return BEHIND_NORMAL_JOBS;
  return explainStart(report) ?? report.shortage ?? busy(ready, workersMax, explainFailure(report));
}

type Explanation = { readonly reason: QueueReason; readonly detail: string };

/** `next`: what follows when a worker has started. */
export function explainStart(report: FleetReport, next = JOB_NEXT): Explanation | undefined {
  const pulling = report.workers.find(({ state }) => state === "pulling");
  if (pulling) return { reason: "image_pulling", detail: pulling.detail ?? "The image is being pulled." };
  const starting = report.workers.find(({ state }) => state === "starting");
  if (!starting) return undefined;
  const detail = starting.detail ?? `A worker is starting; ${next}.`;
  return { reason: "worker_starting", detail };
}

export function explainFailure(report: FleetReport): Explanation | undefined {
  const broken = report.workers.find(({ state }) => state === "crash_looping" || state === "unhealthy");
  if (!broken) return undefined;
  const detail = broken.detail ?? "The worker keeps exiting. See its log.";
  return { reason: "worker_crash_looping", detail };
}

const JOB_NEXT = "the job runs when it has asked for one";

const STORAGE_FULL = {
  reason: "storage_full",
  detail:
    "Results and inputs of this endpoint's jobs take all the storage that they may. The job runs when older results " +
    "have been removed: 30 minutes after their jobs ended, and a day in batches.",
} as const;

const BEHIND_NORMAL_JOBS = {
  reason: "low_priority_waiting",
  detail: `Normal jobs go first, ${LOW_PRIORITY_EVERY - 1} times of ${LOW_PRIORITY_EVERY}, and no worker is added for this one.`,
} as const;

function busy(ready: number, workersMax: number, failure: Explanation | undefined): Explanation {
  const workers = ready === 1 ? "The worker that is up is" : `All ${ready} workers that are up are`;
  const advice =
    ready >= workersMax
      ? `That is workersMax (${workersMax}); raise it to run more at once.`
      : `The scaler asks for more, up to workersMax (${workersMax}), as its settings say.`;
  const beside = failure ? ` Another worker does not come up: ${failure.detail}` : "";
  return {
    reason: "at_max_workers",
    detail: `${workers} busy with jobs ahead of this one. ${advice}${beside}`,
  };
}

function absent(isLowPriority: boolean): Explanation {
  if (!isLowPriority) return { reason: "worker_starting", detail: "A worker has been asked for." };
  return {
    reason: "low_priority_waiting",
    detail:
      "No worker is up, and a low-priority job does not start one. It runs beside the next normal job, " +
      "or with workersMin above 0.",
  };
}
