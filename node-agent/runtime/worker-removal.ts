/** Takes everything off a host that workers of an agent have made there. */
import Dockerode from "dockerode";
import { isConflict, isNotFound } from "./docker-errors.ts";
import { NETWORK_NAME } from "./docker-runtime.ts";
import { createRuntime, type RuntimeKind } from "./runtime-choice.ts";

/** Removes all workers of a host, running or not; says how many there were. The agent must not run. */
export async function removeAllWorkers(
  kind: RuntimeKind,
  settings: { readonly hostId: string; readonly stateDir: string },
): Promise<number> {
  const runtime = createRuntime(kind, { ...settings, hasRealGpus: false });
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

/** Removes the network of the workers, unless containers of another agent are on it; says whether it is gone. */
export async function removeWorkerNetwork(name = NETWORK_NAME): Promise<boolean> {
  try {
    await new Dockerode().getNetwork(name).remove();
    return true;
  } catch (error) {
    if (isNotFound(error)) return true;
    if (isConflict(error) || isForbidden(error)) return false;
    throw error;
  }
}

/** What daemons answer for a network with containers. */
function isForbidden(error: unknown): boolean {
  return error instanceof Error && "statusCode" in error && error.statusCode === 403;
}
