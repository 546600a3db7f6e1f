/** Pods as REST v1 spells them. */
import * as z from "zod";
import { DATA_CENTERS } from "../../catalog/data-centers.ts";
import {
  cpuFlavorIdsSchema,
  environmentSchema,
  gpuTypeIdsSchema,
  oneOf,
  stringSchema,
  stringsSchema,
  wholeNumber,
} from "./rest.ts";

const dataCenterIdSchema = oneOf(DATA_CENTERS.map(({ id }) => id));

/** Body of `POST /v1/pods`. */
export const podCreateSchema = z
  .object({
    name: stringSchema.nullish().meta({ description: "`my pod` by default; need not be unique." }),
    imageName: stringSchema.nullish().meta({ description: "Required without templateId." }),
    templateId: stringSchema.nullish(),
    computeType: oneOf(["GPU", "CPU"]).nullish(),
    cloudType: oneOf(["SECURE", "COMMUNITY"]).nullish(),
    gpuTypeIds: gpuTypeIdsSchema.nullish(),
    gpuCount: wholeNumber(1).nullish(),
    cpuFlavorIds: cpuFlavorIdsSchema.nullish(),
    vcpuCount: wholeNumber(1).nullish(),
    dataCenterIds: z.array(dataCenterIdSchema, "must be a list of data center ids").optional(),
    containerDiskInGb: wholeNumber(1).nullish(),
    volumeInGb: wholeNumber(0).nullish(),
    volumeMountPath: stringSchema.nullish(),
    networkVolumeId: stringSchema.nullish(),
    ports: stringsSchema.nullish(),
    env: environmentSchema.nullish(),
    dockerEntrypoint: stringsSchema.nullish(),
    dockerStartCmd: stringsSchema.nullish(),
    containerRegistryAuthId: stringSchema.nullish(),
    interruptible: z.boolean("must be true or false").nullish(),
  })
  .meta({ id: "PodCreateInput" });

export const podSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    desiredStatus: z.enum(["RUNNING", "EXITED", "TERMINATED"]),
  })
  .meta({ id: "Pod" });
export type RestPod = z.infer<typeof podSchema>;

/** Query of the billing lists. */
export const billingQuerySchema = z.object({
  bucketSize: z
    .enum(["hour", "day", "week", "month", "year"])
    .optional()
    .meta({ description: "Length of one record." }),
  startTime: z.string().optional().meta({ description: "ISO 8601." }),
  endTime: z.string().optional().meta({ description: "ISO 8601." }),
  grouping: z.string().optional().meta({ description: "`endpointId` (the default) or `gpuTypeId`." }),
  endpointId: z.string().optional().meta({ description: "Only what this endpoint used." }),
});

export const billingRecordSchema = z
  .object({
    time: z.string().meta({ description: "Where the span begins, in UTC." }),
    amount: z
      .number()
      .meta({ description: "Nominal, in dollars: time of GPUs by the prices of the catalog." }),
    timeBilledMs: z.int().meta({ description: "Time of workers; of GPUs when grouped by them." }),
    endpointId: z.string().optional(),
    gpuTypeId: z.string().optional(),
  })
  .meta({ id: "BillingRecord" });
