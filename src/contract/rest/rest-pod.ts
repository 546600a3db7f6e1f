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

const price = z.number().meta({ description: "Nominal, in dollars, by the prices of the catalog." });
const hourlyPrices = {
  securePrice: price,
  communityPrice: price,
  secureSpotPrice: price,
  communitySpotPrice: price,
};
const longerPrices = {
  oneWeekPrice: price,
  oneMonthPrice: price,
  threeMonthPrice: price,
  sixMonthPrice: price,
};

const machineSchema = z.object({
  gpuTypeId: z.string().optional(),
  gpuDisplayName: z.string().optional(),
  location: z.string().meta({ description: "Country, two letters; empty where it is not known." }),
  dataCenterId: z.string(),
  supportPublicIp: z.boolean(),
  secureCloud: z.boolean(),
  costPerHr: price,
});

export const podSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    image: z.string(),
    imageName: z.string().meta({ description: "The same as image." }),
    desiredStatus: z.enum(["RUNNING", "EXITED", "TERMINATED"]),
    consumerUserId: z.string().meta({ description: "The account." }),
    machineId: z.string().meta({ description: "The host." }),
    machine: machineSchema,
    endpointId: z.string().optional().meta({ description: "Of a worker of an endpoint." }),
    slsVersion: z.int().optional().meta({ description: "Version of the endpoint that a worker runs." }),
    templateId: z.string(),
    costPerHr: price,
    adjustedCostPerHr: price,
    gpu: z
      .object({
        id: z.string(),
        count: z.int(),
        displayName: z.string(),
        ...hourlyPrices,
        ...longerPrices,
      })
      .optional()
      .meta({ description: "Absent where it has none." }),
    gpuCount: z.int(),
    vcpuCount: z.number().meta({ description: "0 where nothing limits it." }),
    memoryInGb: z.number().meta({ description: "0 where nothing limits it." }),
    cpuFlavorId: z.string().optional(),
    containerDiskInGb: z.int(),
    volumeInGb: z.int(),
    volumeMountPath: z.string(),
    volumeEncrypted: z.boolean(),
    networkVolumeId: z.string().optional(),
    containerRegistryAuthId: z.string().optional(),
    dockerEntrypoint: z.array(z.string()),
    dockerStartCmd: z.array(z.string()),
    env: z.record(z.string(), z.string()).meta({ description: "Empty, since values may be secret." }),
    ports: z.array(z.string()),
    portMappings: z.record(z.string(), z.int()),
    publicIp: z.string().meta({ description: "Empty: no port of a worker is published." }),
    interruptible: z.boolean(),
    locked: z.boolean(),
    savingsPlans: z.array(z.never()),
    lastStartedAt: z.iso.datetime().optional().meta({ description: "Absent while it is not up." }),
    lastStatusChange: z.string(),
  })
  .meta({ id: "Pod" });
export type RestPod = z.infer<typeof podSchema>;

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
