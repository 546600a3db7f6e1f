/** Which workers are those of a host: looked up at Fleet once in each isolate, since a worker never changes its host. */
import { BoundedMap } from "../../domain/bounded-map.ts";
import type { WorkerOfEndpoint } from "../../fleet/messages.ts";
import type { Env } from "../../env.ts";
import { fleetStub } from "../endpoint-directory.ts";

const WORKERS_REMEMBERED = 50_000;

const known = new BoundedMap<true>(WORKERS_REMEMBERED);

/** Says of each whether Fleet has it on the host, or had it there a while ago. */
export async function ownWorkers(
  env: Env,
  hostId: string,
  workers: readonly WorkerOfEndpoint[],
): Promise<(worker: WorkerOfEndpoint) => boolean> {
  const keyOf = ({ workerId, endpointId }: WorkerOfEndpoint) => `${hostId}/${endpointId}/${workerId}`;
  const unknown = workers.filter((worker) => !known.get(keyOf(worker)));
  if (unknown.length > 0) {
    const asked = unknown.map(({ workerId, endpointId }) => ({ workerId, endpointId }));
    for (const worker of await fleetStub(env).workersKnownOn(hostId, asked)) known.set(keyOf(worker), true);
  }
  return (worker) => known.get(keyOf(worker)) ?? false;
}
