/** Worker counts of `health`, from Fleet's report and from which workers have jobs. */
import type { MetricsBody, WorkerCounts } from "../../contract/job.ts";
import type { FleetReport } from "../jobs/queue-reason.ts";
import { workerGauges } from "./gauges.ts";

type Busy = { readonly has: (workerId: string) => boolean };

/** The counts, and which workers can take a job now. */
export function measureWorkers(report: FleetReport, busyWorkers: Busy): MetricsBody {
  const ready = report.workers.filter(
    ({ state, workerId }) => state === "ready" && !busyWorkers.has(workerId),
  );
  return {
    readyWorkers: ready.map(({ workerId }) => workerId),
    workers: countWorkers(report, busyWorkers),
  };
}

/** A worker with a job is running; `ready` counts those that can take a job now, so it equals idle. */
export function countWorkers({ workers, missing }: FleetReport, busyWorkers: Busy): WorkerCounts {
  const free = workers.filter(({ workerId }) => !busyWorkers.has(workerId));
  const { starting, ready, throttled, unhealthy } = workerGauges({ workers: free, missing });
  const running = workers.length - free.length;
  return { idle: ready, initializing: starting, ready, running, throttled, unhealthy };
}
