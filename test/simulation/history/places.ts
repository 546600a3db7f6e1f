/** Where a worker of an endpoint has a place, as far as Fleet knows. */
import type { SimulatedHost } from "../host/host.ts";
import { type Account, accountWith } from "./account.ts";
import type { WorkerRow } from "./fleet-rows.ts";

/** Hosts with GPUs for one more worker of the endpoint; none for an endpoint that no account has made in the beginning. */
export function hostsWithPlace(
  accounts: readonly Account[],
  endpointId: string,
  workers: readonly WorkerRow[],
): readonly SimulatedHost[] {
  const account = accountWith(accounts, endpointId);
  if (!account) return [];
  return account.hosts.filter(({ hostId, gpuCount }) => {
    if (account.closedHostIds.has(hostId)) return false;
    const taken = workers
      .filter(({ host_id: of, state }) => of === hostId && state !== "standby")
      .reduce((sum, { gpu_indexes: indexes }) => sum + (JSON.parse(indexes) as number[]).length, 0);
    return gpuCount - taken >= account.gpusOf(endpointId);
  });
}

/** Workers of the endpoint that are not leaving and not on standby. */
export function stayingWorkers(endpointId: string, workers: readonly WorkerRow[]): readonly WorkerRow[] {
  return workers.filter(
    ({ endpoint_id: of, state, retired_in: retiredIn }) =>
      of === endpointId && retiredIn === null && state !== "standby",
  );
}
