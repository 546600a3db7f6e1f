/** Where a worker of an endpoint has a place, as far as Fleet knows. */
import type { SimulatedHost } from "../host/host.ts";
import { type Account, accountWith } from "./account.ts";
import { hasPlace } from "./capacity.ts";
import type { WorkerRow } from "./fleet-rows.ts";

/** What Fleet has. */
export type FleetView = {
  readonly workers: readonly WorkerRow[];
  /** A pod waits, to which a place may be promised where workers are leaving. */
  readonly isPodWaiting: boolean;
};

/** Hosts with what one more worker of the endpoint asks for; none for one that no account has made in the beginning. */
export function hostsWithPlace(
  accounts: readonly Account[],
  endpointId: string,
  { workers, isPodWaiting }: FleetView,
): readonly SimulatedHost[] {
  const account = accountWith(accounts, endpointId);
  if (!account) return [];
  const isPromised = ({ hostId }: SimulatedHost): boolean =>
    isPodWaiting && workers.some((row) => row.host_id === hostId && row.retired_in !== null);
  return account.hosts.filter(
    (host) =>
      !account.closedHostIds.has(host.hostId) &&
      !isPromised(host) &&
      hasPlace(host, account.requirementOf(endpointId), workers),
  );
}

/** Workers of the endpoint that are not leaving and not on standby. */
export function stayingWorkers(endpointId: string, workers: readonly WorkerRow[]): readonly WorkerRow[] {
  return workers.filter(
    ({ endpoint_id: of, standby_at: standbyAt, retired_in: retiredIn }) =>
      of === endpointId && retiredIn === null && standbyAt === null,
  );
}
