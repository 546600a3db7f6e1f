/** Which containers have which GPUs of a host. */
import type { Container } from "../host/containers.ts";
import type { SimulatedHost } from "../host/host.ts";

/** GPUs that two containers have which run; there are none. */
export function* sharedGpus({ hostId, containers }: SimulatedHost): Generator<string> {
  if (containers.all.size < 2) return;
  const owners = new Map<number, Container>();
  for (const container of containers.all.values()) {
    if (!container.isRunning) continue;
    for (const index of container.spec.gpuIndexes) {
      const other = owners.get(index);
      const names = `${other?.spec.workerId} and ${container.spec.workerId}`;
      if (other) yield `GPU ${index} of ${hostId} has two containers: ${names}`;
      owners.set(index, container);
    }
  }
}
