/** Operations on the endpoints of an environment and on network volumes. */
import * as z from "zod";
import { containerSettings, endpointSettings } from "../../src/contract/flash/app-settings.ts";
import { operation, ServiceFailure, type Service } from "./service.ts";

const string = z.string();
const count = z.number().int();
const variableSchema = z.object({ key: string, value: string });

/** An endpoint as the service has it; further settings are compared only. */
const presentEndpointSchema = z.looseObject({
  id: string,
  name: string,
  type: z.enum(["QB", "LB"]),
  version: count,
  flashBootType: string.nullable(),
  networkVolumeId: string.nullable(),
  networkVolumeIds: z.array(z.object({ networkVolumeId: string })),
  /** The build that its workers run; spelled as the API spells it. */
  activeBuildid: string.nullable(),
  template: z.looseObject({ env: z.array(variableSchema) }).nullable(),
});
export type PresentEndpoint = z.infer<typeof presentEndpointSchema>;

const ENDPOINT_FIELDS = `id name type version ${Object.keys(endpointSettings).join(" ")}
  networkVolumeId networkVolumeIds { networkVolumeId } activeBuildid
  template { imageName ${Object.keys(containerSettings).join(" ")} env { key value } }`;

/** Null when the environment does not exist. */
export const environmentEndpoints = operation(
  `query ($id: String) {
    flashEnvironment(flashEnvironmentId: $id) { id name state activeBuildId endpoints { ${ENDPOINT_FIELDS} } }
  }`,
  {
    flashEnvironment: z
      .object({
        id: string,
        name: string,
        state: string.nullable(),
        activeBuildId: string.nullable(),
        endpoints: z.array(presentEndpointSchema),
      })
      .nullable(),
  },
);

/** Without an id, creates or updates the endpoint of this name in the environment; idempotent. */
export const saveEndpoint = operation(
  "mutation ($input: EndpointInput) { saveEndpoint(input: $input) { id name type version } }",
  { saveEndpoint: z.object({ id: string, name: string, type: z.enum(["QB", "LB"]), version: count }) },
);

const volumeSchema = z.object({ id: string, name: string, dataCenterId: string });

export const networkVolumes = operation("query { myself { networkVolumes { id name dataCenterId } } }", {
  myself: z.object({ networkVolumes: z.array(volumeSchema) }),
});

export const createNetworkVolume = operation(
  "mutation ($input: CreateNetworkVolumeInput) { createNetworkVolume(input: $input) { id name dataCenterId } }",
  { createNetworkVolume: volumeSchema },
);

const limitWorkers = operation("mutation ($input: EndpointInput) { saveEndpoint(input: $input) { id } }", {
  saveEndpoint: z.object({ id: string }),
});

const deleteEndpoint = operation("mutation ($id: String) { deleteEndpoint(id: $id) }", {
  deleteEndpoint: z.null(),
});

/** Sets the worker limits of an endpoint to 0, which the API requires, and deletes it; "gone" when it does not exist. */
export async function removeEndpoint(service: Service, id: string): Promise<"deleted" | "gone"> {
  try {
    await service.mutateIdempotent(limitWorkers, { input: { id, workersMin: 0, workersMax: 0 } });
    await service.mutate(deleteEndpoint, { id });
    return "deleted";
  } catch (error) {
    if (error instanceof ServiceFailure && error.code === "ENDPOINT_NOT_FOUND") return "gone";
    throw error;
  }
}

export const createSecret = operation(
  "mutation ($input: SecretCreateInput) { secretCreate(input: $input) { id } }",
  { secretCreate: z.object({ id: string }) },
);

export const listSecrets = operation("query { myself { secrets { id } } }", {
  myself: z.object({ secrets: z.array(z.object({ id: string })) }),
});

export const deleteSecret = operation("mutation ($id: ID!) { secretDelete(id: $id) }", {
  secretDelete: z.null(),
});

export const hostsPresent = operation("query { myself { hosts { isPresent } } }", {
  myself: z.object({ hosts: z.array(z.object({ isPresent: z.boolean() })) }),
});
