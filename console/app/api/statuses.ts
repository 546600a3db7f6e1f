import type { WireStatus } from "../../../src/contract/job.ts";
import type { MetricsWindow } from "../../../src/contract/metrics.ts";

export type { MetricsWindow, WireStatus };

/** Written once more than in the contract, whose schemas would come along. */
export const WIRE_STATUSES = [
  "IN_QUEUE",
  "IN_PROGRESS",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
  "TIMED_OUT",
] as const satisfies readonly WireStatus[];

export const METRICS_WINDOWS = ["5m", "1h", "24h", "7d"] as const satisfies readonly MetricsWindow[];

export type LogSearch = {
  search?: string;
  workerId?: string;
  source?: "container" | "system";
};
