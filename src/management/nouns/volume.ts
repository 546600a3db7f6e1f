/** What clients set of a network volume. */
import * as z from "zod";
import { DATA_CENTERS, findDataCenter } from "../../catalog/data-centers.ts";
import { NETWORK_VOLUME_MAX_GB } from "../../contract/limits.ts";
import { nameSchema as restNameSchema } from "../../contract/rest/rest.ts";
import type { networkVolume } from "../../db/schema.ts";
import { nameSchema, optional, optionalNonEmpty, wholeNumber } from "../input-schemas.ts";
import { patchShape, restInput, restOutput, type Fields } from "./field.ts";

const DATA_CENTER_IDS = DATA_CENTERS.map(({ id }) => id);

const dataCenterSchema = z
  .string()
  .refine((id) => findDataCenter(id) !== undefined, `must be one of ${DATA_CENTER_IDS.join(", ")}`);
const sizeSchema = wholeNumber(1, NETWORK_VOLUME_MAX_GB);
/** Typed clients of REST v2 know no smaller ones. */
const nestedSizeSchema = wholeNumber(10, NETWORK_VOLUME_MAX_GB);

type Column = keyof typeof networkVolume.$inferSelect;

export const changeableVolumeFields = {
  name: {
    type: "String",
    input: "Up to 191 characters; need not be unique.",
    patch: optional(nameSchema),
    rest: {
      input: restNameSchema.nullish(),
      creation: restNameSchema.meta({ example: "models" }),
      output: z.string(),
    },
    v2: { name: "name", input: nameSchema.optional(), creation: nameSchema, output: z.string() },
  },
  size: {
    type: "Int",
    input: `Whole GB, from 1 to ${NETWORK_VOLUME_MAX_GB}; can grow, never shrink.`,
    output: "Whole GB.",
    patch: optional(sizeSchema),
    column: "sizeGb",
    rest: { input: sizeSchema.nullish(), creation: sizeSchema, output: z.int() },
    v2: { name: "size", input: nestedSizeSchema.optional(), creation: nestedSizeSchema, output: z.int() },
  },
} satisfies Fields<Column>;

export const volumeFields = {
  ...changeableVolumeFields,
  dataCenterId: {
    type: "String",
    input: "One of the ids of dataCenters; fixed at creation.",
    patch: optionalNonEmpty(dataCenterSchema),
    rest: {
      creation: dataCenterSchema.meta({ example: "EU-RO-1", enum: DATA_CENTER_IDS }),
      output: z.string(),
    },
    v2: {
      name: "dataCenter",
      creation: dataCenterSchema.meta({ example: "EU-RO-1", enum: DATA_CENTER_IDS }),
      output: z.string(),
    },
  },
} satisfies Fields<Column>;

/** What a new network volume has. */
export const volumeCreationSchema = z.object(patchShape(volumeFields));
export type VolumeCreation = Partial<z.output<typeof volumeCreationSchema>>;

/** Changes of a network volume; undefined leaves what is stored. */
export const volumePatchSchema = z.object(patchShape(changeableVolumeFields));
export type VolumePatch = Partial<z.output<typeof volumePatchSchema>>;

/** Body of `POST /v1/networkvolumes`. */
export const volumeCreateSchema = z
  .object(restInput(volumeFields, "creation"))
  .meta({ id: "NetworkVolumeCreateInput" });

/** Body of `PATCH /v1/networkvolumes/{id}`: what it omits stays. */
export const volumeUpdateSchema = z
  .object(restInput(volumeFields, "update"))
  .meta({ id: "NetworkVolumeUpdateInput" });

/** A network volume as REST v1 shows it. */
export const volumeSchema = z
  .object({ id: z.string().meta({ example: "agv6w2qcg7ldkm" }), ...restOutput(volumeFields) })
  .meta({ id: "NetworkVolume" });
