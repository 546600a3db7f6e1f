/** Network volumes and registry credentials as REST v1 spells them. */
import * as z from "zod";
import { DATA_CENTERS, findDataCenter } from "../../catalog/data-centers.ts";
import { nameSchema, stringSchema, wholeNumber } from "./rest.ts";

/** Size of one network volume. */
export const NETWORK_VOLUME_MAX_GB = 4_000;

const DATA_CENTER_IDS = DATA_CENTERS.map(({ id }) => id);

const sizeSchema = wholeNumber(1, NETWORK_VOLUME_MAX_GB).meta({ description: "GB. Can grow, never shrink." });

/** Body of `POST /v1/networkvolumes`. */
export const volumeCreateSchema = z
  .object({
    name: nameSchema.meta({ example: "models" }),
    size: sizeSchema,
    dataCenterId: stringSchema
      .refine((id) => findDataCenter(id) !== undefined, `must be one of ${DATA_CENTER_IDS.join(", ")}`)
      .meta({ example: "EU-RO-1", enum: DATA_CENTER_IDS }),
  })
  .meta({ id: "NetworkVolumeCreateInput" });

/** Body of `PATCH /v1/networkvolumes/{id}`: what it omits stays. */
export const volumeUpdateSchema = z
  .object({ name: nameSchema.nullish(), size: sizeSchema.nullish() })
  .meta({ id: "NetworkVolumeUpdateInput" });

export const volumeSchema = z
  .object({
    id: z.string().meta({ example: "agv6w2qcg7ldkm" }),
    name: z.string(),
    size: z.int(),
    dataCenterId: z.string(),
  })
  .meta({ id: "NetworkVolume" });
export type RestVolume = z.infer<typeof volumeSchema>;

const credential = stringSchema.min(1, "must not be empty");

/** Body of `POST /v1/containerregistryauth`. */
export const registryAuthCreateSchema = z
  .object({
    name: nameSchema.meta({ example: "ghcr" }),
    username: credential,
    password: credential.meta({ description: "Never shown again.", format: "password" }),
  })
  .meta({ id: "ContainerRegistryAuthCreateInput" });

export const registryAuthSchema = z
  .object({ id: z.string().meta({ example: "clzdaifot0001l90809257ynb" }), name: z.string() })
  .meta({ id: "ContainerRegistryAuth" });
export type RestRegistryAuth = z.infer<typeof registryAuthSchema>;
