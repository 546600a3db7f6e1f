/** Why no worker takes a request, as one sentence. */
import { explainFailure, explainStart, type FleetReport } from "./queue-reason.ts";

const NEXT = "it takes requests as soon as its health check succeeds";

export function explainAbsence(report: FleetReport, workersMax: number): string {
  if (workersMax === 0) return "The endpoint's workersMax is 0. Raise it, and workers will answer requests.";
  const cause = explainStart(report, NEXT) ?? explainFailure(report) ?? report.shortage;
  if (cause) return cause.detail;
  return report.workers.some(({ state }) => state === "ready")
    ? "A worker is up, but does not take requests: its health check has not succeeded yet, or its host is not connected."
    : "A worker has been asked for.";
}
