/** Creating, growing and deleting network volumes. */
import * as z from "zod";
import { DATA_CENTERS, findDataCenter } from "../../catalog/data-centers.ts";
import { NETWORK_VOLUME_MAX_GB } from "../../contract/rest/rest-storage.ts";
import {
  deleteNetworkVolumeIfUnused,
  findNetworkVolume,
  growNetworkVolume,
  insertNetworkVolumeWithinQuota,
  listEndpointsOfVolume,
  listNetworkVolumes,
  type NetworkVolumeRecord,
} from "../../db/network-volumes.ts";
import { requireQuota } from "../quota.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { ServiceError } from "../../contract/errors.ts";
import { retryOnConflict } from "../optimistic-write.ts";
import { nameSchema, optional, optionalNonEmpty, wholeNumber } from "../input-schemas.ts";

const dataCenterSchema = z
  .string()
  .refine(
    (id) => findDataCenter(id) !== undefined,
    `must be one of ${DATA_CENTERS.map(({ id }) => id).join(", ")}`,
  );

const changeable = {
  name: optional(nameSchema),
  /** GB. */
  size: optional(wholeNumber(1, NETWORK_VOLUME_MAX_GB)),
};

/** What a new network volume has. */
export const volumeCreationSchema = z.object({
  ...changeable,
  dataCenterId: optionalNonEmpty(dataCenterSchema),
});
type VolumeCreation = Partial<z.output<typeof volumeCreationSchema>>;

/** Changes of a network volume; undefined leaves what is stored. */
export const volumePatchSchema = z.object(changeable);
type VolumePatch = Partial<z.output<typeof volumePatchSchema>>;

/** The network volumes of the calling account, the oldest first. */
export async function listVolumes(context: RequestContext): Promise<readonly NetworkVolumeRecord[]> {
  return await listNetworkVolumes(context.db, context.principal.accountId);
}

export async function createVolume(
  context: RequestContext,
  { name, size, dataCenterId }: VolumeCreation,
): Promise<NetworkVolumeRecord> {
  if (name === undefined || size === undefined || dataCenterId === undefined) {
    const missing = Object.entries({ name, size, dataCenterId }).filter(([, value]) => value === undefined);
    const fields = missing.map(([field]) => field).join(", ");
    throw new ServiceError("invalid_input", `${fields}: required to create a network volume`);
  }
  const values = { name, sizeGb: size, dataCenterId };
  return await retryOnConflict(async () => {
    await requireQuota(context, "networkVolume");
    return await insertNetworkVolumeWithinQuota(context.db, authorOf(context), values);
  });
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
  const { sizeGb } = await requireVolume(context, volumeId); // somebody else was faster
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
  const users = await listEndpointsOfVolume(db, principal.accountId, volumeId);
  if (users.length === 0) return;
  throw new ServiceError(
    "network_volume_in_use",
    `id: network volume ${volumeId} is in use by endpoint ${users.map(({ id }) => id).join(", ")}: ` +
      "delete the endpoint or take the volume from it first.",
  );
}

/** Finds a network volume of the calling account, or refuses. */
export async function requireVolume(context: RequestContext, volumeId: string): Promise<NetworkVolumeRecord> {
  const volume = await findNetworkVolume(context.db, context.principal.accountId, volumeId);
  if (volume === undefined) {
    throw new ServiceError("network_volume_not_found", `id: network volume '${volumeId}' was not found`);
  }
  return volume;
}

function cannotShrink(sizeGb: number, presentGb: number): ServiceError {
  return new ServiceError(
    "invalid_input",
    `size: ${sizeGb} GB must not be below the present ${presentGb} GB; a network volume only grows`,
  );
}
