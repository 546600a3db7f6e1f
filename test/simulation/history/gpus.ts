/** What containers have of the GPUs of a host. */
import type { Container } from "../host/containers.ts";
import type { SimulatedHost } from "../host/host.ts";

/** GPUs of which containers that run have more than there is; one that declares no memory has its GPUs alone. */
export function* overfullGpus({ hostId, containers, inventory }: SimulatedHost): Generator<string> {
  if (containers.all.size < 2) return;
  const owners = new Map<number, Container[]>();
  for (const container of containers.all.values()) {
    if (!container.isRunning) continue;
    for (const index of container.spec.gpuIndexes)
      owners.set(index, [...(owners.get(index) ?? []), container]);
  }
  for (const [index, all] of owners) {
    const declared = all.reduce((sum, { spec }) => sum + (spec.gpuMemoryMb ?? Infinity), 0);
    const { memoryMb = 0 } = inventory.gpus.find((gpu) => gpu.index === index) ?? {};
    const names = all.map(({ spec }) => spec.workerId).join(" and ");
    if (all.length > 1 && declared > memoryMb)
      yield `${names} have ${declared} MiB of GPU ${index} of ${hostId}, which has ${memoryMb}`;
  }
}
