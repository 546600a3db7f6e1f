/** Which workers could be evicted for a worker of a newer version, where no host has capacity. */
import { HostCapacity, type CandidateHost, type Allocation } from "../placement/host-capacity.ts";
import { resourceRequests, fitOf, type Requirement } from "../placement/host-fit.ts";

export type Tenant = Allocation & {
  readonly workerId: string;
  /** It may be evicted. */
  readonly isOutdated: boolean;
};

export type FullHost = { readonly host: CandidateHost; readonly tenants: readonly Tenant[] };

/**
 * Sets of outdated workers, each of which frees a place: on a host where one is enough, each that is; elsewhere as few
 * as suffice.
 */
export function findEvictionSets(requirement: Requirement, hosts: readonly FullHost[]): readonly string[][] {
  return hosts.flatMap(({ host, tenants }) => {
    const fitsWithout = (evicted: readonly Tenant[]) => {
      const capacity = new HostCapacity(
        host,
        tenants.filter((tenant) => !evicted.includes(tenant)),
      );
      return resourceRequests(requirement).some((ask) => fitOf(capacity, requirement, ask).kind === "fits");
    };
    const outdated = tenants.filter(({ isOutdated }) => isOutdated);
    const alone = outdated.filter((tenant) => fitsWithout([tenant]));
    if (alone.length > 0) return alone.map(({ workerId }) => [workerId]);
    const together = outdated.findIndex((_, index) => fitsWithout(outdated.slice(0, index + 1)));
    return together < 0 ? [] : [outdated.slice(0, together + 1).map(({ workerId }) => workerId)];
  });
}
