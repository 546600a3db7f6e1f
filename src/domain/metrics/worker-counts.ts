/** Worker counts of `health`, from Fleet's report and from which workers have jobs. */
import type { MetricsBody, WorkerCounts } from "../../contract/job.ts";
import type { FleetReport } from "../jobs/queue-reason.ts";

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
function countWorkers(report: FleetReport, busyWorkers: Busy): WorkerCounts {
  const count = { idle: 0, initializing: 0, ready: 0, running: 0, throttled: report.missing, unhealthy: 0 };
  for (const worker of report.workers) {
    if (busyWorkers.has(worker.workerId)) count.running += 1;
    else if (worker.state === "ready") count.idle += 1;
    else if (worker.state === "pulling" || worker.state === "starting") count.initializing += 1;
    else if (worker.state === "unhealthy" || worker.state === "crash_looping") count.unhealthy += 1;
  }
  return { ...count, ready: count.idle };
}
