/** Pods as REST v1 spells them. */
import * as z from "zod";
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
    machine: machineSchema.optional().meta({ description: "Absent while it has no place." }),
    endpointId: z.string().optional().meta({ description: "Of a worker of an endpoint." }),
    slsVersion: z.int().optional().meta({ description: "Version of the endpoint that a worker runs." }),
    templateId: z.string().meta({ description: "Empty for a pod that was made of none." }),
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
    vcpuCount: z.number().meta({
      description: "Of a pod that nothing limits, the least that it has; 0 for such a worker.",
    }),
    memoryInGb: z.number().meta({ description: "As vcpuCount." }),
    cpuFlavorId: z.string().optional(),
    containerDiskInGb: z.int(),
    volumeInGb: z.int(),
    volumeMountPath: z.string(),
    volumeEncrypted: z.boolean(),
    networkVolumeId: z.string().optional(),
    networkVolume: z
      .object({ id: z.string(), name: z.string(), size: z.int(), dataCenterId: z.string() })
      .optional()
      .meta({ description: "With includeNetworkVolume." }),
    containerRegistryAuthId: z.string().optional(),
    dockerEntrypoint: z.array(z.string()),
    dockerStartCmd: z.array(z.string()),
    env: z
      .record(z.string(), z.string())
      .meta({ description: "Of a pod. Empty for a worker, since values may be secret." }),
    ports: z.array(z.string()),
    portMappings: z.record(z.string(), z.int()),
    publicIp: z
      .string()
      .nullable()
      .meta({ description: "Null where no port is published, as for a worker." }),
    interruptible: z.boolean(),
    locked: z.boolean(),
    savingsPlans: z.array(z.never()),
    lastStartedAt: z.iso.datetime().optional().meta({ description: "Absent while it is not up." }),
    lastStatusChange: z.string(),
    computeType: z.enum(["GPU", "CPU"]).optional().meta({ description: "Of a pod, as the members below." }),
    gpuTypeId: z.string().optional(),
    uptimeSeconds: z.int().optional(),
    createdAt: z.iso.datetime().optional(),
    runtime: z
      .object({
        uptimeInSeconds: z.int(),
        ports: z
          .record(
            z.string(),
            z.object({
              ip: z.string(),
              isIpPublic: z.boolean(),
              privatePort: z.int(),
              publicPort: z.int(),
              type: z.enum(["http", "tcp"]),
            }),
          )
          .meta({ description: "By the port inside and its protocol, such as `22/tcp`." }),
        gpus: z.array(
          z.object({
            id: z.string(),
            gpuUtilPercent: z.number().nullable(),
            memoryUtilPercent: z.number().nullable(),
          }),
        ),
        container: z.object({
          cpuPercent: z.number().nullable(),
          memoryPercent: z.number().nullable(),
        }),
      })
      .optional()
      .meta({ description: "Absent while the container is not up." }),
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
    podId: z.string().optional(),
    gpuTypeId: z.string().optional(),
  })
  .meta({ id: "BillingRecord" });
