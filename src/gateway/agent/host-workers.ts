/** Which workers are those of a host: looked up at Fleet once in each isolate, since a worker never changes its host. */
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import type { WorkerOfEndpoint } from "../../fleet/messages.ts";
import type { Env } from "../../env.ts";
import { fleetStub } from "../endpoint-directory.ts";

const CACHE_SIZE = 50_000;

const cache = new BoundedMap<true>(CACHE_SIZE);

/** Says of each whether Fleet has it on the host, or had it there a while ago. */
export async function ownWorkers(
  env: Env,
  hostId: string,
  workers: readonly WorkerOfEndpoint[],
): Promise<(worker: WorkerOfEndpoint) => boolean> {
  const keyOf = ({ workerId, endpointId }: WorkerOfEndpoint) => `${hostId}/${endpointId}/${workerId}`;
  const unknown = workers.filter((worker) => !cache.get(keyOf(worker)));
  if (unknown.length > 0) {
    const requested = unknown.map(({ workerId, endpointId }) => ({ workerId, endpointId }));
    for (const worker of await fleetStub(env).recentWorkersOn(hostId, requested))
      cache.set(keyOf(worker), true);
  }
  return (worker) => cache.get(keyOf(worker)) ?? false;
}
