import * as z from "zod";
import { findDataCenter, type DataCenter } from "../../catalog/data-centers.ts";
import type { NetworkVolumeRecord } from "../../db/network-volumes.ts";
import {
  changeVolume,
  createVolume,
  deleteVolume,
  listVolumes,
  volumeCreationSchema,
  volumePatchSchema,
} from "../../management/endpoints/volumes.ts";
import { parseInput, stringSchema } from "../../management/input-schemas.ts";
import { withInput, withoutArguments, type GraphqlContext } from "../context.ts";

export const volumeSdl = /* GraphQL */ `
  type Mutation {
    "All three fields are required."
    createNetworkVolume(input: CreateNetworkVolumeInput): NetworkVolume
    "Renames a volume or makes it larger; omitted fields stay."
    updateNetworkVolume(input: UpdateNetworkVolumeInput): NetworkVolume
    "Fails with NETWORK_VOLUME_IN_USE while an endpoint uses it."
    deleteNetworkVolume(input: DeleteNetworkVolumeInput): Void
  }

  type User {
    "Oldest first."
    networkVolumes: [NetworkVolume]
  }

  input CreateNetworkVolumeInput {
    "Up to 191 characters; need not be unique."
    name: String
    "Whole GB, from 1 to 4000."
    size: Int
    "One of the ids of dataCenters; fixed at creation."
    dataCenterId: String
  }
  input UpdateNetworkVolumeInput {
    id: String
    "Up to 191 characters; omitted it stays."
    name: String
    "Whole GB; not below the present size."
    size: Int
  }
  input DeleteNetworkVolumeInput {
    id: String
  }
  type NetworkVolume {
    id: String
    name: String
    "Whole GB."
    size: Int
    dataCenterId: String
    dataCenter: DataCenter
    "Always null: there are no storage clusters."
    storageClusterId: String
    "Always null: there is one type."
    storageType: String
  }
`;

const idSchema = z.object({ id: stringSchema.min(1, "must not be empty") });

export const volumeResolvers = {
  Mutation: {
    createNetworkVolume: withInput(volumeCreationSchema, createVolume),
    updateNetworkVolume: async (
      _parent: unknown,
      { input }: { readonly input?: unknown },
      context: GraphqlContext,
    ): Promise<NetworkVolumeRecord> => {
      const { id } = parseInput(idSchema, input);
      return await changeVolume(context, id, parseInput(volumePatchSchema, input));
    },
    deleteNetworkVolume: withInput(idSchema, (context, { id }) => deleteVolume(context, id)),
  },

  User: { networkVolumes: withoutArguments(listVolumes) },

  NetworkVolume: {
    size: ({ sizeGb }: NetworkVolumeRecord): number => sizeGb,
    dataCenter: ({ dataCenterId }: NetworkVolumeRecord): DataCenter | null =>
      findDataCenter(dataCenterId) ?? null,
  },
};
