/** Hosts as REST v1 spells them. */
import * as z from "zod";

const will = z.boolean("must be true or false");

/** Body of `PATCH /v1/hosts/{id}`: what it omits stays. */
export const hostUpdateSchema = z
  .object({
    cordoned: will.nullish().meta({ description: "true: no new workers." }),
    drained: will
      .nullish()
      .meta({ description: "true: no new workers, and those it has go, busy ones after their job." }),
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
