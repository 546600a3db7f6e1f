/** Why a job or a request waits: a reason code and a message for users. */
import type { WorkerState } from "../../contract/agent/agent.ts";
import type { QueueReason } from "../../contract/job.ts";
import type { PlacementFailure } from "../placement/host-pool.ts";
import type { WorkerStart } from "./worker-start.ts";
import type { BudgetPeriod } from "../costs/budget.ts";
import { LOW_PRIORITY_EVERY } from "./priorities.ts";

export type WorkerSnapshot = {
  readonly workerId: string;
  readonly hostId: string;
  readonly state: WorkerState;
  readonly detail: string | null;
  /** Version of the endpoint that it runs. Absent in older reports. */
  readonly version?: number;
  /** How often it was revived from standby. Absent in older reports. */
  readonly revivals?: number;
  /** Absent in older reports. */
  readonly start?: WorkerStart | null;
  /** When its host was chosen, or it was revived there, epoch ms. Absent in older reports. */
  readonly placedAt?: number;
  /** Dollars per hour; absent for one that costs nothing, and in older reports. */
  readonly perHour?: number;
  /** From its placement or revival until it was first ready; absent until then. */
  readonly startingMs?: number;
};

/** Fleet's report for an endpoint: its workers, and why a desired one is not placed (`shortage`). */
export type FleetReport = {
  /** Grows with every report; a late, older one is ignored. */
  readonly revision: number;
  readonly workers: readonly WorkerSnapshot[];
  readonly missing: number;
  readonly shortage: PlacementFailure | null;
  /** Present while the next worker of a newer version has no place. */
  readonly rollShortage?: RolloutObstacle;
  /** Present while endpoints of the account want more capacity than there is. */
  readonly contention?: Contention;
  /** Present while a budget is reached, or about to be. */
  readonly budget?: BudgetNotice;
};

/** What an endpoint must know of the others while capacity is short. */
export type Contention = {
  /** What an endpoint states of its workers belongs to one contention; a loss of memory of Fleet begins another one. */
  readonly number: number;
  /** Epochs of workers that give way to others if they have no job. */
  readonly whenFree: readonly string[];
  /** Epochs of workers that get no more jobs, and give way after those they have. */
  readonly afterJobs: readonly string[];
};

/** A budget of the endpoint, or of its account, that is no longer within its limit. */
export type BudgetNotice = {
  readonly of: "endpoint" | "account";
  readonly state: "warning" | "reached";
  /** Dollars. */
  readonly limit: number;
  readonly period: BudgetPeriod;
  /** When the period ends. */
  readonly until: number;
};

/** Until a budget allows it again, the endpoint gets no worker and starts no job. */
export function isStopped({ budget }: Pick<FleetReport, "budget">): boolean {
  return budget?.state === "reached";
}

/** Why a worker of a newer version has no place, and the sets of older ones that would each free one (`roomBy`). */
export type RolloutObstacle = {
  readonly shortage: PlacementFailure;
  readonly roomBy: readonly (readonly string[])[];
};

export const NO_REPORT: FleetReport = { revision: 0, workers: [], missing: 0, shortage: null };

export type WaitingSample = {
  readonly isLowPriority: boolean;
  /** Stored payloads of the endpoint take so much space that no job is dispatched. */
  readonly isStorageFull: boolean;
  readonly workersMax: number;
  readonly report: FleetReport;
};

/**
 * The first of these that holds: storage is full; a budget is reached; no worker is allowed; one is starting; one cannot start; there is no
 * place for one; a low-priority job starts none; all workers are busy.
 */
export function explainWait(sample: WaitingSample): Explanation {
  const { report, workersMax } = sample;
  if (sample.isStorageFull) return STORAGE_FULL;
  if (report.budget?.state === "reached") return explainBudget(report.budget);
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

/** `next`: what follows the start of a worker, for the message. */
export function explainStart(report: FleetReport, next = JOB_NEXT): Explanation | undefined {
  const pulling = report.workers.find(({ state }) => state === "pulling");
  if (pulling) return { reason: "image_pulling", detail: pulling.detail ?? "The image is being pulled." };
  const starting = report.workers.find(({ state }) => state === "starting");
  if (!starting) return undefined;
  const detail = starting.detail ?? `A worker is starting; ${next}.`;
  return { reason: "worker_starting", detail };
}

export function explainFailure(report: FleetReport): Explanation | undefined {
  const broken = report.workers.find(isBroken);
  if (!broken) return undefined;
  const detail = broken.detail ?? "The worker keeps exiting. See its log.";
  return { reason: "worker_crash_looping", detail };
}

/** It keeps exiting, or fails its health check. */
export function isBroken({ state }: Pick<WorkerSnapshot, "state">): boolean {
  return state === "crash_looping" || state === "unhealthy";
}

function explainBudget({ of, limit, period, until }: BudgetNotice): Explanation {
  const next = new Date(until).toISOString();
  return {
    reason: "budget_reached",
    detail:
      `The ${of} has spent its budget of ${limit} $ for this ${period}. No worker is started until ${next}, ` +
      "or until the budget is raised or reset.",
  };
}

const JOB_NEXT = "the job runs as soon as it is ready";

const STORAGE_FULL = {
  reason: "storage_full",
  detail:
    "The storage for inputs and results of this endpoint is full. The job runs when older results have been " +
    "removed: 30 minutes after their jobs ended, and a day in batches.",
} as const;

const BEHIND_NORMAL_JOBS = {
  reason: "low_priority_waiting",
  detail: `Normal jobs go first, ${LOW_PRIORITY_EVERY - 1} times of ${LOW_PRIORITY_EVERY}, and no worker is added for this one.`,
} as const;

function busy(ready: number, workersMax: number, failure: Explanation | undefined): Explanation {
  const workers = ready === 1 ? "The only ready worker is" : `All ${ready} ready workers are`;
  const advice =
    ready >= workersMax
      ? `That is workersMax (${workersMax}); raise it to run more at once.`
      : `Scaling may add workers, up to workersMax (${workersMax}).`;
  const beside = failure ? ` Another worker does not start: ${failure.detail}` : "";
  return {
    reason: "at_max_workers",
    detail: `${workers} busy with jobs ahead of this one. ${advice}${beside}`,
  };
}

function absent(isLowPriority: boolean): Explanation {
  if (!isLowPriority) return { reason: "worker_starting", detail: "A worker has been requested." };
  return {
    reason: "low_priority_waiting",
    detail:
      "No worker is running, and a low-priority job does not start one. It runs beside the next normal job, " +
      "or with workersMin above 0.",
  };
}

const NEXT = "it takes requests as soon as its health check succeeds";

/** Why no worker takes a request of a load-balanced endpoint. */
export function explainAbsence(report: FleetReport, workersMax: number): string {
  if (report.budget?.state === "reached") return explainBudget(report.budget).detail;
  if (workersMax === 0) return "The endpoint's workersMax is 0. Raise it, and workers will answer requests.";
  const cause = explainStart(report, NEXT) ?? explainFailure(report) ?? report.shortage;
  if (cause) return cause.detail;
  return report.workers.some(({ state }) => state === "ready")
    ? "A worker is up, but does not take requests: its health check has not succeeded yet, or its host is not connected."
    : "A worker has been requested.";
}
