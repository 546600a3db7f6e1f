/** Takes everything off a host that workers of an agent have made there. */
import { isConflict, isForbidden } from "./docker/docker-errors.ts";
import { DockerRuntime } from "./docker/docker-runtime.ts";
import { ProcessRuntime } from "./process/process-runtime.ts";
import type { RuntimeKind } from "./create-runtime.ts";
import type { Runtime } from "./runtime.ts";

type Place = { readonly hostId: string; readonly stateDir: string };

/** Removes all workers of a host, running or not; says how many there were. The agent must not run. */
export async function removeAllWorkers(kind: RuntimeKind, place: Place): Promise<number> {
  const runtime = openRuntime(kind, place);
  const alive = setInterval(() => {}, 1_000); // what a runtime waits for does not keep a process from ending
  try {
    const workers = await runtime.list();
    for (const { workerId } of workers) await runtime.remove(workerId);
    return workers.length;
  } finally {
    clearInterval(alive);
    await runtime.close();
  }
}

function openRuntime(kind: RuntimeKind, { hostId, stateDir }: Place): Runtime {
  if (kind === "docker") return new DockerRuntime({ hostId, hasRealGpus: false });
  return new ProcessRuntime({ stateDirectory: stateDir, hasRealGpus: false });
}

/**
 * Removes the network of the workers and its firewall rules, unless containers of another agent are on it; says
 * whether it is gone.
 */
export async function removeWorkerNetwork(networkName?: string): Promise<boolean> {
  const named = networkName === undefined ? {} : { networkName };
  try {
    await new DockerRuntime({ hostId: "", hasRealGpus: false, ...named }).removeNetwork();
    return true;
  } catch (error) {
    if (isConflict(error) || isForbidden(error)) return false;
    throw error;
  }
}
