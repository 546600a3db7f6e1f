import type { Assignment } from "../../src/contract/agent/agent.ts";

/** A worker that this host has, as far as reconciling cares. */
export type PresentWorker = {
  readonly workerId: string;
  readonly revision: number;
  readonly isDraining: boolean;
};

export type ReconcilePlan = {
  readonly start: readonly Assignment[];
  readonly drain: readonly string[];
};

/** Says what closes the gap between what the host has and what it should have. */
export function planWorkers(
  assignments: readonly Assignment[],
  present: readonly PresentWorker[],
): ReconcilePlan {
  const assigned = new Map(assignments.map((assignment) => [assignment.workerId, assignment]));
  const presentIds = new Set(present.map((worker) => worker.workerId));
  return {
    start: [...assigned.values()].filter((assignment) => !presentIds.has(assignment.workerId)),
    drain: present
      .filter((worker) => !worker.isDraining)
      .filter((worker) => assigned.get(worker.workerId)?.revision !== worker.revision)
      .map((worker) => worker.workerId),
  };
}
