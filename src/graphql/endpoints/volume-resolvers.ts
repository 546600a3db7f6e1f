import * as z from "zod";
import { findDataCenter, type DataCenter } from "../../catalog/data-centers.ts";
import type { NetworkVolumeRecord } from "../../db/network-volumes.ts";
import type { RequestContext } from "../../management/context.ts";
import { parseInput, stringSchema } from "../../management/input-schemas.ts";
import { volumeCreationSchema, volumePatchSchema } from "../../management/endpoints/volume-patch.ts";
import { changeVolume, createVolume, deleteVolume, listVolumes } from "../../management/endpoints/volumes.ts";

const idSchema = z.object({ id: stringSchema.min(1, "must not be empty") });

type Arguments = { readonly input?: unknown };

export const volumeResolvers = {
  Mutation: {
    createNetworkVolume: async (
      _parent: unknown,
      { input }: Arguments,
      context: RequestContext,
    ): Promise<NetworkVolumeRecord> => await createVolume(context, parseInput(volumeCreationSchema, input)),
    updateNetworkVolume: async (
      _parent: unknown,
      { input }: Arguments,
      context: RequestContext,
    ): Promise<NetworkVolumeRecord> => {
      const { id } = parseInput(idSchema, input);
      return await changeVolume(context, id, parseInput(volumePatchSchema, input));
    },
    deleteNetworkVolume: async (
      _parent: unknown,
      { input }: Arguments,
      context: RequestContext,
    ): Promise<null> => {
      await deleteVolume(context, parseInput(idSchema, input).id);
      return null;
    },
  },

  User: {
    networkVolumes: async (
      _account: unknown,
      _args: unknown,
      context: RequestContext,
    ): Promise<readonly NetworkVolumeRecord[]> => await listVolumes(context),
  },

  NetworkVolume: {
    size: ({ sizeGb }: NetworkVolumeRecord): number => sizeGb,
    dataCenter: ({ dataCenterId }: NetworkVolumeRecord): DataCenter | null =>
      findDataCenter(dataCenterId) ?? null,
  },
};
