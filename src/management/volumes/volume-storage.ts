/** Network volumes. */
import {
  findVolume,
  insertVolume,
  listVolumesOf,
  removeVolume,
  updateVolume,
  type VolumeRecord,
} from "../../db/network-volumes.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { OperationError } from "../operation-error.ts";

export type VolumeInput = { readonly name: string; readonly size: number; readonly dataCenterId: string };
export type VolumePatch = { readonly name?: string | undefined; readonly size?: number | undefined };

export async function listVolumes(context: RequestContext): Promise<readonly VolumeRecord[]> {
  return await listVolumesOf(context.db, context.principal.accountId);
}

export async function requireVolume(context: RequestContext, volumeId: string): Promise<VolumeRecord> {
  const volume = await findVolume(context.db, context.principal.accountId, volumeId);
  if (volume === undefined) {
    throw new OperationError("NETWORK_VOLUME_NOT_FOUND", `id: network volume '${volumeId}' was not found`);
  }
  return volume;
}

export async function createVolume(
  context: RequestContext,
  { name, size, dataCenterId }: VolumeInput,
): Promise<VolumeRecord> {
  return await insertVolume(context.db, authorOf(context), { name, sizeGb: size, dataCenterId });
}

export async function changeVolume(
  context: RequestContext,
  volumeId: string,
  { name, size }: VolumePatch,
): Promise<VolumeRecord> {
  const read = await requireVolume(context, volumeId);
  if (size !== undefined && size < read.sizeGb) {
    throw new OperationError("INVALID_INPUT", `size: a volume only grows; this one has ${read.sizeGb} GB`);
  }
  const values = {
    name: name ?? read.name,
    sizeGb: size ?? read.sizeGb,
    dataCenterId: read.dataCenterId,
  };
  return (await updateVolume(context.db, authorOf(context), read, values)) ?? read;
}

export async function deleteVolume(context: RequestContext, volumeId: string): Promise<void> {
  const volume = await requireVolume(context, volumeId);
  await removeVolume(context.db, authorOf(context), volume);
}
