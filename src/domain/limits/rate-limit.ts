/** The limits in effect, which grow with the workers of an endpoint. */
import { RATE_LIMITS, type LimitedOperation } from "../../contract/rate-limits.ts";
import type { FleetReport } from "../jobs/queue-reason.ts";

export type EffectiveLimit = { readonly requests: number; readonly concurrent: number | null };

/** What an operation may do while so many workers run. */
export function effectiveLimit(operation: LimitedOperation, runningWorkers: number): EffectiveLimit {
  const { requests, concurrent, perWorker } = RATE_LIMITS[operation];
  const grown = Math.max(requests, runningWorkers * (perWorker ?? 0));
  return {
    requests: grown,
    concurrent: concurrent === null ? null : Math.floor((concurrent * grown) / requests),
  };
}

/** Workers that take jobs, whether they have one at the moment or not. */
export function runningWorkers(report: FleetReport): number {
  return report.workers.filter(({ state }) => state === "ready").length;
}
