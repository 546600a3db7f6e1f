/** Which slots jobs may be given to, and in which order, as Fleet, configuration and releases say. */
import type { WorkerSnapshot } from "../jobs/queue-reason.ts";

/** What an agent offers for a worker. */
export type OfferedSlot = { readonly workerId: string };

/** What is known of the workers of an endpoint. */
export type EligibleWorkers = {
  /** The hosts of the workers that may get work, by worker. */
  readonly hosts: ReadonlyMap<string, string>;
  /** Workers of an older release. */
  readonly outdated: ReadonlySet<string>;
};

/** Whether a worker may get work: one that is leaving or on standby finishes what it has. */
export function acceptsJobs({ state }: Pick<WorkerSnapshot, "state">): boolean {
  return state !== "stopping" && state !== "standby";
}

/**
 * None while no workers are allowed. A host, which `hostOf` names for each slot, is believed only about workers that
 * Fleet has placed on it. Those of an older release come last.
 */
export function openSlots<Slot extends OfferedSlot>(
  slots: readonly Slot[],
  hostOf: (slot: Slot) => string,
  { hosts, outdated }: EligibleWorkers,
  workersMax: number,
): readonly Slot[] {
  if (workersMax === 0) return [];
  const open = slots.filter((slot) => hosts.get(slot.workerId) === hostOf(slot));
  if (outdated.size === 0) return open;
  return open.toSorted((a, b) => Number(outdated.has(a.workerId)) - Number(outdated.has(b.workerId)));
}
