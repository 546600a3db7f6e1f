/** Creating, growing and deleting network volumes. */
import {
  deleteNetworkVolumeIfUnused,
  findNetworkVolume,
  growNetworkVolume,
  insertNetworkVolumeWithinQuota,
  listEndpointsOfVolume,
  listNetworkVolumes,
  findNetworkVolumes,
  type NetworkVolumeRecord,
} from "../../db/network-volumes.ts";
import { listPodsUsing } from "../../db/pods.ts";
import { requireQuota } from "../quota.ts";
import { authorOf, retryOnConflict, type RequestContext } from "../context.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { VolumeCreation, VolumePatch } from "../nouns/volume.ts";
import type { EndpointRecord } from "../../db/endpoints.ts";

export type { NetworkVolumeRecord };

/** The network volumes of the calling account, the oldest first. */
export async function listVolumes(context: RequestContext): Promise<readonly NetworkVolumeRecord[]> {
  return await listNetworkVolumes(context.db, context.principal.accountId);
}

/** Throws the error that `createVolume` would. */
export async function checkVolumeCreation(context: RequestContext, creation: VolumeCreation): Promise<void> {
  completed(creation);
  await requireQuota(context, "networkVolume");
}

export async function createVolume(
  context: RequestContext,
  creation: VolumeCreation,
): Promise<NetworkVolumeRecord> {
  const values = completed(creation);
  return await retryOnConflict(async () => {
    await requireQuota(context, "networkVolume");
    return await insertNetworkVolumeWithinQuota(context.db, authorOf(context), values);
  });
}

function completed({ name, size, dataCenterId }: VolumeCreation) {
  if (name === undefined || size === undefined || dataCenterId === undefined) {
    const missing = Object.entries({ name, size, dataCenterId }).filter(([, value]) => value === undefined);
    const fields = missing.map(([field]) => field).join(", ");
    throw new ServiceError("invalid_input", `${fields}: required to create a network volume`);
  }
  return { name, sizeGb: size, dataCenterId };
}

/** Renames a volume or makes it larger; data would not fit into a smaller one. */
export async function changeVolume(
  context: RequestContext,
  volumeId: string,
  patch: VolumePatch,
): Promise<NetworkVolumeRecord> {
  const read = await requireVolume(context, volumeId);
  const values = { name: patch.name ?? read.name, sizeGb: patch.size ?? read.sizeGb };
  if (values.sizeGb < read.sizeGb) throw cannotShrink(values.sizeGb, read.sizeGb);

  const changed = await growNetworkVolume(context.db, authorOf(context), read, values);
  if (changed !== undefined) return changed;
  const { sizeGb } = await requireVolume(context, volumeId); // another write was faster
  throw cannotShrink(values.sizeGb, sizeGb);
}

export async function deleteVolume(context: RequestContext, volumeId: string): Promise<void> {
  await retryOnConflict(async () => {
    const volume = await findNetworkVolume(context.db, context.principal.accountId, volumeId);
    if (volume === undefined) {
      throw new ServiceError(
        "network_volume_not_found",
        `id: Tried to delete nonexistent network volume '${volumeId}': it was not found`,
      );
    }
    if (await deleteNetworkVolumeIfUnused(context.db, authorOf(context), volume)) return volume;
    await refuseUsed(context, volumeId);
    return undefined;
  });
}

async function refuseUsed({ db, principal }: RequestContext, volumeId: string): Promise<void> {
  const pods = await listPodsUsing(db, principal.accountId, { networkVolumeId: volumeId });
  if (pods.length > 0) {
    throw new ServiceError(
      "network_volume_in_use",
      `id: network volume ${volumeId} is in use by pod ${pods.join(", ")}: terminate the pod first.`,
    );
  }
  const users = await listEndpointsOfVolume(db, principal.accountId, volumeId);
  if (users.length === 0) return;
  throw new ServiceError(
    "network_volume_in_use",
    `id: network volume ${volumeId} is in use by endpoint ${users.map(({ id }) => id).join(", ")}: ` +
      "delete the endpoint or take the volume from it first.",
  );
}

/** Finds a network volume of the calling account, or refuses. */
export async function requireVolume(
  context: RequestContext,
  volumeId: string,
  field = "id",
): Promise<NetworkVolumeRecord> {
  const volume = await findNetworkVolume(context.db, context.principal.accountId, volumeId);
  if (volume === undefined) {
    throw new ServiceError(
      "network_volume_not_found",
      `${field}: network volume '${volumeId}' was not found`,
    );
  }
  return volume;
}

function cannotShrink(sizeGb: number, presentGb: number): ServiceError {
  return new ServiceError(
    "invalid_input",
    `size: ${sizeGb} GB must not be below the present ${presentGb} GB; a network volume only grows`,
  );
}

type Attachment = Pick<EndpointRecord, "networkVolumeId" | "networkVolumeIds">;

/** Rejects volumes of other accounts, and two in one data center: a worker mounts the one in its own data center. */
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
