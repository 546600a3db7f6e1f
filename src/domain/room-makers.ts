/** Whose leaving would make room for a worker of a newer release, where no host has any. */
import { HostRoom, type CandidateHost, type TakenRoom } from "./host-room.ts";
import { asksOf, fitOf, type Requirement } from "./misfit.ts";

export type Tenant = TakenRoom & {
  readonly workerId: string;
  /** It is one of those that may go. */
  readonly isOutdated: boolean;
};

export type FullHost = { readonly host: CandidateHost; readonly tenants: readonly Tenant[] };

/**
 * Sets of outdated workers, each of which makes room by leaving: of a host on which one is enough, each that is;
 * of another one as few as do.
 */
export function findRoomMakers(wanted: Requirement, hosts: readonly FullHost[]): readonly string[][] {
  return hosts.flatMap(({ host, tenants }) => {
    const hasRoomWithout = (gone: readonly Tenant[]) => {
      const room = new HostRoom(
        host,
        tenants.filter((tenant) => !gone.includes(tenant)),
      );
      return asksOf(wanted).some((ask) => fitOf(room, wanted, ask).kind === "fits");
    };
    const outdated = tenants.filter(({ isOutdated }) => isOutdated);
    const alone = outdated.filter((tenant) => hasRoomWithout([tenant]));
    if (alone.length > 0) return alone.map(({ workerId }) => [workerId]);
    const together = outdated.findIndex((_, index) => hasRoomWithout(outdated.slice(0, index + 1)));
    return together < 0 ? [] : [outdated.slice(0, together + 1).map(({ workerId }) => workerId)];
  });
}
