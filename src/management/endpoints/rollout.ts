/** How far a rolling release of an endpoint is, counted by the versions of its workers. */
import type { WorkerView } from "../../fleet/messages.ts";

export type Rollout = {
  readonly inProgress: true;
  readonly oldestVersion: number;
  readonly workersOnLatest: number;
  readonly workersTotal: number;
  readonly percentOnLatest: number;
  readonly reason: string | null;
};

/** Null while no worker is of an older version. */
export function toRollout(all: readonly WorkerView[], version: number): Rollout | null {
  const workers = all.filter(({ state }) => state !== "stopping" && state !== "standby");
  const oldestVersion = Math.min(version, ...workers.map((worker) => worker.version));
  if (oldestVersion === version) return null;
  const latest = workers.filter((worker) => worker.version >= version);
  const late = latest.find(({ state, detail }) => state !== "ready" && detail !== null);
  return {
    inProgress: true,
    oldestVersion,
    workersOnLatest: latest.length,
    workersTotal: workers.length,
    percentOnLatest: Math.floor((100 * latest.length) / workers.length),
    reason: late?.detail ?? null,
  };
}
