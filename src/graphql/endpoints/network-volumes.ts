import { findDataCenter, type DataCenter } from "../../catalog/data-centers.ts";
import {
  changeVolume,
  checkVolumeCreation,
  createVolume,
  deleteVolume,
  listVolumes,
  type NetworkVolumeRecord,
} from "../../management/endpoints/volumes.ts";
import { onlyIdSchema, parseInput } from "../../management/input-schemas.ts";
import { fieldResolvers, inputSdl, typeSdl } from "../../management/nouns/field.ts";
import {
  changeableVolumeFields,
  volumeCreationSchema,
  volumeFields,
  volumePatchSchema,
} from "../../management/nouns/volume.ts";
import { dryRunSdl, withDryRun, withInput, withoutArguments } from "../context.ts";

export const volumeSdl = /* GraphQL */ `
  type Mutation {
    "All three fields are required."
    createNetworkVolume(
      input: CreateNetworkVolumeInput
      ${dryRunSdl}
    ): NetworkVolume
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
    ${inputSdl(volumeFields)}
  }
  input UpdateNetworkVolumeInput {
    id: String
    ${inputSdl(changeableVolumeFields)}
  }
  input DeleteNetworkVolumeInput {
    id: String
  }
  type NetworkVolume {
    id: String
    ${typeSdl(volumeFields)}
    dataCenter: DataCenter
    "Always null: there are no storage clusters."
    storageClusterId: String
    "Always null: there is one type."
    storageType: String
  }
`;

export const volumeResolvers = {
  Mutation: {
    createNetworkVolume: withDryRun(volumeCreationSchema, checkVolumeCreation, createVolume),
    updateNetworkVolume: withInput(
      onlyIdSchema.loose(),
      async (context, { id, ...patch }) =>
        await changeVolume(context, id, parseInput(volumePatchSchema, patch)),
    ),
    deleteNetworkVolume: withInput(onlyIdSchema, (context, { id }) => deleteVolume(context, id)),
  },

  User: { networkVolumes: withoutArguments(listVolumes) },

  NetworkVolume: {
    ...fieldResolvers(volumeFields),
    dataCenter: ({ dataCenterId }: NetworkVolumeRecord): DataCenter | null =>
      findDataCenter(dataCenterId) ?? null,
  },
};
