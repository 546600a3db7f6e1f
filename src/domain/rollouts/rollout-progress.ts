/** Progress of a rollout, and what delays it. */
import type { RolloutBody } from "../../contract/job.ts";
import { isBroken, type FleetReport, type WorkerSnapshot } from "../jobs/queue-reason.ts";
import { WORKER_START_LIMIT_MS } from "../../contract/agent/agent.ts";

export type RolloutTimes = {
  /** When the rollout began. */
  readonly since: number;
  /** When one of its workers last became ready; as early as its beginning. */
  readonly progressAt: number;
  /** Since when it is known to be stuck; null while it may continue. */
  readonly stalledSince: number | null;
};

/** Null while all workers are of the endpoint's version. */
export function describeRollout(
  report: FleetReport,
  version: number,
  clock: RolloutTimes,
  now: number,
): RolloutBody | null {
  const workers = report.workers.filter(isStaying);
  const versions = workers.map((worker) => worker.version ?? version);
  const oldest = Math.min(version, ...versions);
  if (oldest === version) return null;
  const newer = workers.filter((worker) => (worker.version ?? version) >= version);
  const lateSince = clock.progressAt + WORKER_START_LIMIT_MS;
  return {
    from: oldest,
    to: version,
    outdated: workers.length - newer.length,
    current: newer.length,
    ready: newer.filter(({ state }) => state === "ready").length,
    since: new Date(clock.since).toISOString(),
    stalledSince: toTime(clock.stalledSince ?? (now >= lateSince ? lateSince : null)),
    reason: obstacleOf(report, version) ?? waitOf(newer),
  };
}

/** Why new workers do not start; undefined while nothing prevents it. */
export function obstacleOf(report: FleetReport, version: number): string | undefined {
  const newer = report.workers.filter(
    (worker) => (worker.version ?? version) >= version && isStaying(worker),
  );
  const broken = newer.find(isBroken);
  if (broken) return broken.detail ?? "A worker of the new version keeps failing. See its log.";
  if (newer.some(({ state }) => state !== "ready")) return undefined;
  const { rollShortage } = report;
  return rollShortage?.roomBy.length === 0 ? rollShortage.shortage.detail : undefined;
}

/** The same, also without older workers: a desired worker may have no place. */
export function startObstacleOf(report: FleetReport, version: number): string | null {
  const obstacle = obstacleOf(report, version);
  if (obstacle !== undefined) return obstacle;
  return report.workers.some(isStaying) ? null : (report.shortage?.detail ?? null);
}

/** One on standby is no worker of the endpoint until it is revived. */
function isStaying({ state }: WorkerSnapshot): boolean {
  return state !== "stopping" && state !== "standby";
}

/** What the rollout waits for, as far as it is known. */
function waitOf(newer: readonly WorkerSnapshot[]): string | null {
  return newer.find(({ state, detail }) => state !== "ready" && detail !== null)?.detail ?? null;
}

function toTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
