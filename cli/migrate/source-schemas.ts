/** What the old service answers: the documented shapes of its REST API v2, with bounds. Unknown members are kept. */
import * as z from "zod";

const LIST_MAX = 10_000;
const TEXT_MAX = 65_536;

const text = z.string().max(TEXT_MAX);
const identifier = z.string().min(1).max(1_000);
const whole = z.int().nonnegative();
const texts = z.array(text).max(LIST_MAX);

/** Where the next page of a list begins; a service without pages sends nothing of it. */
const paginationShape = {
  pagination: z.object({ hasNextPage: z.boolean(), nextCursor: identifier.nullish() }).nullish(),
};
export type Page = z.output<z.ZodObject<typeof paginationShape>>;

/** A list that the answer wraps in an object. */
function listed<Name extends string, Schema extends z.ZodType>(name: Name, schema: Schema) {
  const list = { [name]: z.array(schema).max(LIST_MAX) } as Record<Name, z.ZodArray<Schema>>;
  return z.object({ ...paginationShape, ...list });
}

const containerShape = {
  image: text.nullish(),
  args: text.nullish(),
  /** GB. */
  disk: whole.nullish(),
  ports: texts.nullish(),
  env: z.record(text, text).nullish(),
  /** Id of a registry credential. */
  registry: text.nullish(),
};
export type SourceContainer = z.output<z.ZodObject<typeof containerShape>>;

export const sourceEndpointSchema = z.looseObject({
  id: identifier,
  name: identifier,
  type: z.enum(["QUEUE", "LOAD_BALANCER"]).nullish(),
  ...containerShape,
  gpu: z
    .looseObject({
      pools: texts,
      excludedTypes: texts.nullish(),
      count: z.int().positive().nullish(),
      allowedCudaVersions: texts.nullish(),
      minCudaVersion: text.nullish(),
    })
    .nullish(),
  cpu: z
    .array(z.object({ id: identifier, vcpuCount: whole, memory: whole }))
    .max(LIST_MAX)
    .nullish(),
  /** `idleTimeout` in seconds. */
  workers: z.looseObject({ min: whole, max: whole, idleTimeout: whole.nullish() }),
  scaling: z.discriminatedUnion("type", [
    z.object({ type: z.literal("QUEUE_DELAY"), queueDelay: z.number().positive() }),
    z.object({ type: z.literal("REQUEST_COUNT"), requestCount: z.number().positive() }),
  ]),
  dataCenterIds: texts,
  networkVolumes: z.array(identifier).max(LIST_MAX),
  /** Milliseconds. */
  timeout: z.int(),
  flashboot: z.enum(["OFF", "FLASHBOOT", "PRIORITY_FLASHBOOT"]),
  // State of the endpoint there, which is no setting:
  createdAt: z.unknown().optional(),
  requestUrls: z.unknown().optional(),
});
export type SourceEndpoint = z.output<typeof sourceEndpointSchema>;

export const sourceTemplateSchema = z.looseObject({
  id: identifier,
  name: identifier,
  ...containerShape,
  mounts: z.looseObject({ persistent: z.object({ size: whole, path: text }).nullish() }).nullish(),
  serverless: z.boolean(),
  public: z.boolean().nullish(),
  category: z.enum(["CPU", "NVIDIA", "AMD"]).nullish(),
  startSsh: z.boolean().nullish(),
  startJupyter: z.boolean().nullish(),
  allowedCudaVersions: texts.nullish(),
});
export type SourceTemplate = z.output<typeof sourceTemplateSchema>;

export const sourceVolumeSchema = z.looseObject({
  id: identifier,
  name: identifier,
  /** GB. */
  size: z.int().positive(),
  dataCenter: identifier,
  type: text.nullish(),
});
export type SourceVolume = z.output<typeof sourceVolumeSchema>;

export const endpointsSchema = listed("endpoints", sourceEndpointSchema);
export const templatesSchema = listed("templates", sourceTemplateSchema);
export const volumesSchema = listed("networkVolumes", sourceVolumeSchema);
export const registriesSchema = listed("registries", z.object({ id: identifier, name: identifier }));
export const delegationsSchema = listed("delegations", z.object({ id: identifier, repository: text }));
export const sshKeysSchema = z.object({ keys: texts });

/** An answer of GraphQL with members of `myself`, for what REST does not have. */
function ofMyself<Schema extends z.ZodType>(schema: Schema) {
  return z.object({ data: z.object({ myself: schema }) });
}

export const secretsSchema = ofMyself(
  listed("secrets", z.object({ name: identifier, description: text.nullish() })),
);
export const extrasSchema = ofMyself(
  listed(
    "endpoints",
    z.object({ id: identifier, modelReferences: texts.nullish(), compliance: texts.nullish() }),
  ),
);
