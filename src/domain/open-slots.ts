/** Which slots jobs may be given to, as the configuration of the endpoint and the release of each worker say. */
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { WorkerSnapshot } from "./queue-reason.ts";

/**
 * Not those of workers of an older release, which are about to be replaced, and none while no workers are
 * allowed: so a change is seen by the very next job. A worker that Fleet has not told of yet is a new one.
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
  return slots.filter(({ workerId }) => !ids.has(workerId));
}
