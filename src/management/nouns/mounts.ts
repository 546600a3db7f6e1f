/** What clients set of the volumes that a container finds among its files. */
import * as z from "zod";
import { blankIsAbsent, stringsSchema } from "../../contract/rest/rest.ts";
import { clearable, listOf, optional, stringSchema, wholeNumber } from "../input-schemas.ts";
import type { Fields } from "./field.ts";

export const mountPathSchema = z.string().regex(/^(\/.*)?$/, "must begin with /, such as /workspace");

/** A volume of a pod, which ends with it. */
export const persistentVolumeFields = {
  volumeInGb: {
    type: "Int",
    input: "GB of the volume of a pod; 0 for Serverless templates, and for new ones in REST.",
    patch: optional(wholeNumber(0)),
    workerTrait: true,
    rest: { input: wholeNumber(0).nullish(), default: 0, output: z.int() },
    v2: { name: "mounts.persistent.size", input: wholeNumber(10), default: 0 },
  },
  volumeMountPath: {
    type: "String",
    input: "Begins with /; in REST /workspace for a new template.",
    patch: optional(mountPathSchema),
    default: "",
    workerTrait: true,
    rest: { input: blankIsAbsent(stringSchema), default: "/workspace", output: z.string() },
    v2: { name: "mounts.persistent.path", input: stringSchema },
  },
} satisfies Fields;

/** Null and the empty string mean no volumes. */
const volumeIdsSchema = z.preprocess(
  (volumes) => (volumes === "" || volumes === null ? [] : volumes),
  listOf(z.object({ networkVolumeId: z.string() }))
    .transform((volumes) => volumes.map((volume) => volume.networkVolumeId).filter((id) => id !== ""))
    .optional(),
);

/** Volumes of the account, which outlive what uses them. */
export const networkVolumeFields = {
  networkVolumeId: {
    type: "String",
    input: "One volume of the account, or empty or null for none; takes the place of networkVolumeIds.",
    patch: clearable(stringSchema),
    default: null,
    workerTrait: true,
    rest: { input: stringSchema.nullish(), output: z.string(), toOutput: (id: string | null) => id ?? "" },
  },
  networkVolumeIds: {
    type: "[NetworkVolumeIds]",
    inputType: "[NetworkVolumeIdsInput]",
    input: "Several volumes, at most one per data center; they take the place of networkVolumeId.",
    patch: volumeIdsSchema,
    default: [],
    workerTrait: true,
    rest: {
      input: stringsSchema.nullish(),
      toPatch: (ids: readonly string[] | null | undefined) =>
        ids?.map((networkVolumeId) => ({ networkVolumeId })) ?? ids,
      output: z.array(z.string()),
    },
    v2: {
      name: "networkVolumes",
      input: stringsSchema.optional(),
      toPatch: (ids: readonly string[] | undefined) => ids?.map((networkVolumeId) => ({ networkVolumeId })),
      output: z.array(z.string()),
    },
  },
} satisfies Fields;
