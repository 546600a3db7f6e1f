/** Which slots jobs may be given to, and in which order, as configuration and releases say. */
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { WorkerSnapshot } from "./queue-reason.ts";

/**
 * None while no workers are allowed; those of workers of an older release come last. A worker that Fleet has not
 * told of yet is a new one.
 */
export function openSlots<Slot extends { readonly workerId: string }>(
  slots: readonly Slot[],
  workers: readonly Pick<WorkerSnapshot, "workerId" | "version">[],
  { version, workersMax }: Pick<EndpointConfig, "version" | "workersMax">,
): readonly Slot[] {
  if (workersMax === 0) return [];
  const outdated = workers.filter((worker) => (worker.version ?? version) < version);
  if (outdated.length === 0) return slots;
  const ids = new Set(outdated.map(({ workerId }) => workerId));
  return slots.toSorted((a, b) => Number(ids.has(a.workerId)) - Number(ids.has(b.workerId)));
}
