/** Which network volumes an endpoint may have. */
import { findNetworkVolumes, type NetworkVolumeRecord } from "../../db/network-volumes.ts";
import type { EndpointRecord } from "../../db/endpoints.ts";
import type { RequestContext } from "../context.ts";
import { ServiceError } from "../../contract/errors.ts";

type Attachment = Pick<EndpointRecord, "networkVolumeId" | "networkVolumeIds">;

/** Refuses volumes that are not the account's, and two of one data center: a worker mounts the one of its own. */
export async function requireAttachable(context: RequestContext, attachment: Attachment): Promise<void> {
  const volumeIds = attachedIds(attachment);
  const found = await findNetworkVolumes(context.db, context.principal.accountId, volumeIds);
  const foundById = new Map(found.map((volume) => [volume.id, volume]));
  const unknown = volumeIds.find((volumeId) => !foundById.has(volumeId));
  if (unknown !== undefined) {
    throw new ServiceError(
      "network_volume_not_found",
      `${fieldOf(attachment, unknown)}: network volume '${unknown}' was not found`,
    );
  }
  refuseSameDataCenter(
    attachment,
    volumeIds.flatMap((volumeId) => foundById.get(volumeId) ?? []),
  );
}

/** Ids of all volumes that an endpoint names, each once. */
export function attachedIds({ networkVolumeId, networkVolumeIds }: Attachment): string[] {
  return [...new Set([...(networkVolumeId === null ? [] : [networkVolumeId]), ...networkVolumeIds])];
}

function refuseSameDataCenter(attachment: Attachment, volumes: readonly NetworkVolumeRecord[]): void {
  const byDataCenter = Map.groupBy(volumes, ({ dataCenterId }) => dataCenterId);
  for (const [dataCenterId, [one, two]] of byDataCenter) {
    if (one === undefined || two === undefined) continue;
    throw new ServiceError(
      "invalid_input",
      `${fieldOf(attachment, two.id)}: ${one.id} and ${two.id} are both in ${dataCenterId}; ` +
        "an endpoint has at most one network volume per data center",
    );
  }
}

function fieldOf({ networkVolumeIds }: Attachment, volumeId: string): string {
  return networkVolumeIds.includes(volumeId) ? "networkVolumeIds" : "networkVolumeId";
}
