/** Hosts as REST v1 spells them. */
import * as z from "zod";

const will = z.boolean("must be true or false");

const amount = (description: string) => z.number("must be a number").nullish().meta({ description });

const hostPriceSchema = z
  .object({
    perHour: amount("Dollars per hour of the whole host."),
    perGpuHour: amount("Dollars per hour of each of its GPUs."),
    watts: amount("What the host draws; with perKwh."),
    perKwh: amount("Dollars per kilowatt-hour."),
  })
  .meta({
    id: "HostPrice",
    description: "What a host costs its owner: perHour, or perGpuHour, or watts and perKwh.",
  });

/** Body of `PATCH /v1/hosts/{id}`: what it omits stays. */
export const hostUpdateSchema = z
  .object({
    cordoned: will.nullish().meta({ description: "true: no new workers." }),
    drained: will
      .nullish()
      .meta({ description: "true: no new workers, and those it has go, busy ones after their job." }),
    price: hostPriceSchema.nullish().meta({ description: "null: nominal prices." }),
  })
  .meta({ id: "HostUpdateInput" });

export const hostSchema = z
  .object({
    id: z.string().meta({ example: "hq3xk1m7t2ab9c" }),
    name: z.string(),
    dataCenterId: z.string().nullable(),
    isPresent: z.boolean(),
    agentVersion: z.string().nullable(),
    isAgentOutdated: z.boolean(),
    gpus: z.array(
      z.object({
        name: z.string(),
        tier: z.string().nullable(),
        isSimulated: z.boolean().meta({ description: "true: the host does not have such a card." }),
        total: z.int(),
        free: z.int(),
      }),
    ),
    workers: z.int(),
    cordoned: z.boolean(),
    drained: z.boolean(),
    price: hostPriceSchema.nullable().meta({ description: "null: nominal prices." }),
    createdAt: z.string(),
    apiKeyId: z.string().nullable().meta({ description: "The API key whose join token let the host in." }),
    expiresAt: z
      .string()
      .nullable()
      .meta({ description: "When that key expires, and the host ends with it." }),
    lastSeenAt: z.string().nullable(),
  })
  .meta({ id: "Host" });
export type RestHost = z.infer<typeof hostSchema>;
