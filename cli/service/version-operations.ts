/** Operations on the versions of endpoints. */
import * as z from "zod";
import { operation } from "./service.ts";

const string = z.string();
const count = z.number().int();

const changeSchema = z.object({ field: string, old: z.unknown(), new: z.unknown() });
export type ReleaseChange = z.infer<typeof changeSchema>;

const releaseSchema = z.object({
  version: count,
  createdAt: string,
  apiKeyId: string,
  apiKeyName: string.nullable(),
  flashBuildId: string.nullable(),
  changes: z.array(changeSchema),
  reason: string.nullable(),
});
export type Release = z.infer<typeof releaseSchema>;

export const endpointNames = operation(
  "query ($id: String) { flashEnvironment(flashEnvironmentId: $id) { endpoints { id name version } } }",
  {
    flashEnvironment: z
      .object({ endpoints: z.array(z.object({ id: string, name: string, version: count })) })
      .nullable(),
  },
);

/** The newest first; null when the endpoint does not exist. */
export const endpointVersions = operation(
  `query ($id: String!) { myself { endpoint(id: $id) { releases {
    version createdAt apiKeyId apiKeyName flashBuildId reason changes { field old new }
  } } } }`,
  { myself: z.object({ endpoint: z.object({ releases: z.array(releaseSchema) }).nullable() }) },
);

/** Makes a new version of the settings of an earlier one. */
export const rollbackEndpoint = operation(
  `mutation ($endpointId: String!, $version: Int!) {
    rollbackEndpoint(input: { endpointId: $endpointId, version: $version }) { id version }
  }`,
  { rollbackEndpoint: z.object({ id: string, version: count }) },
);
