/** Operations on apps, environments, sessions and builds. */
import * as z from "zod";
import { AUTH_REQUEST_STATUSES } from "../../src/contract/flash/flash-names.ts";
import { flashManifestSchema } from "../../src/contract/flash/flash-manifest.ts";
import { operation, ServiceFailure } from "./service.ts";

const string = z.string();

/** Fields of the host of a worker that name its GPU. */
export const GPU_FIELDS = "gpuDisplayName isGpuSimulated";

export const gpuShape = { gpuDisplayName: z.string().nullable(), isGpuSimulated: z.boolean().nullable() };

type Gpu = z.infer<z.ZodObject<typeof gpuShape>>;

/** Name of a GPU as users read it; undefined for a worker without one. */
export function gpuName({ gpuDisplayName, isGpuSimulated }: Gpu): string | undefined {
  if (gpuDisplayName === null) return undefined;
  return isGpuSimulated === true ? `simulated ${gpuDisplayName}` : gpuDisplayName;
}

export const environmentSchema = z.object({
  id: string,
  name: string,
  state: string.nullable(),
  activeBuildId: string.nullable(),
  createdAt: string.nullable(),
  /** When a live session ends unless it is renewed; null for an environment without a lease. */
  leaseExpiresAt: string.nullable(),
});
export type FlashEnvironment = z.infer<typeof environmentSchema>;

/** Without the sessions of `flash dev`. */
export function lasting<Environment extends Pick<FlashEnvironment, "leaseExpiresAt">>(
  environments: readonly Environment[],
): readonly Environment[] {
  return environments.filter(({ leaseExpiresAt }) => leaseExpiresAt === null);
}

/** The column STATE of tables. */
export function stateOf({ state, leaseExpiresAt }: FlashEnvironment): string {
  return leaseExpiresAt === null || state === "DELETING" ? (state ?? "-") : "LIVE";
}

const buildSchema = z.object({ id: string, sha256: string.nullable(), createdAt: string.nullable() });

const appSchema = z.object({
  id: string,
  name: string,
  flashEnvironments: z.array(environmentSchema),
  flashBuilds: z.array(buildSchema),
});
export type FlashApp = z.infer<typeof appSchema>;

const APP_FIELDS = `id name
  flashEnvironments { id name state activeBuildId createdAt leaseExpiresAt }
  flashBuilds { id sha256 createdAt }`;

/** Fails with APP_NOT_FOUND. */
export const appByName = operation(
  `query ($name: String) { flashAppByName(flashAppName: $name) { ${APP_FIELDS} } }`,
  { flashAppByName: appSchema },
);

export const createApp = operation(
  "mutation ($input: CreateFlashAppInput) { createFlashApp(input: $input) { id name } }",
  { createFlashApp: z.object({ id: string, name: string }) },
);

export const listApps = operation(
  "query { myself { flashApps { id name flashEnvironments { id name leaseExpiresAt } flashBuilds { id } } } }",
  {
    myself: z.object({
      flashApps: z.array(
        z.object({
          id: string,
          name: string,
          flashEnvironments: z.array(environmentSchema.pick({ id: true, name: true, leaseExpiresAt: true })),
          flashBuilds: z.array(z.object({ id: string })),
        }),
      ),
    }),
  },
);

/** Deletes its builds too; its environments must have been deleted. */
export const deleteApp = operation("mutation ($id: String) { deleteFlashApp(flashAppId: $id) }", {
  deleteFlashApp: z.unknown(),
});

export const deleteEnvironment = operation(
  "mutation ($id: String) { deleteFlashEnvironment(flashEnvironmentId: $id) }",
  { deleteFlashEnvironment: z.unknown() },
);

const environmentEndpointSchema = z.object({
  id: string,
  name: string,
  type: z.enum(["QB", "LB"]),
  workersMin: z.number().int(),
  workersMax: z.number().int(),
  pods: z.array(
    z.object({
      id: string,
      desiredStatus: string,
      gpuCount: z.number().int().nullable(),
      machine: z.object({ ...gpuShape, location: string.nullable() }).nullable(),
    }),
  ),
});
export type EnvironmentEndpoint = z.infer<typeof environmentEndpointSchema>;

/** An environment and what runs in it; null when it does not exist. */
export const environmentDetails = operation(
  `query ($id: String) {
    flashEnvironment(flashEnvironmentId: $id) {
      id name state activeBuildId createdAt leaseExpiresAt
      endpoints {
        id name type workersMin workersMax
        pods { id desiredStatus gpuCount machine { ${GPU_FIELDS} location } }
      }
      networkVolumes { id name size dataCenterId }
    }
  }`,
  {
    flashEnvironment: environmentSchema
      .extend({
        endpoints: z.array(environmentEndpointSchema),
        networkVolumes: z.array(
          z.object({ id: string, name: string, size: z.number(), dataCenterId: string }),
        ),
      })
      .nullable(),
  },
);

/** Ids of all endpoints of the account. */
export const endpointIds = operation("query { myself { endpoints { id } } }", {
  myself: z.object({ endpoints: z.array(z.object({ id: string })) }),
});

const authRequestSchema = z.object({
  id: string,
  status: z.enum(AUTH_REQUEST_STATUSES),
  expiresAt: string.nullable(),
});

/** Needs no key. */
export const createAuthRequest = operation("mutation { createFlashAuthRequest { id status expiresAt } }", {
  createFlashAuthRequest: authRequestSchema,
});

/** Needs no key. The first answer with APPROVED has the API key. */
export const authRequestStatus = operation(
  "query ($id: String) { flashAuthRequestStatus(flashAuthRequestId: $id) { id status expiresAt apiKey } }",
  { flashAuthRequestStatus: authRequestSchema.extend({ apiKey: string.nullable() }) },
);

export const createEnvironment = operation(
  "mutation ($appId: String, $name: String) { createFlashEnvironment(input: { flashAppId: $appId, name: $name }) { id name } }",
  { createFlashEnvironment: z.object({ id: string, name: string }) },
);

/** `uploadUrl` takes the whole by PUT, or parts of `partBytes` at `<uploadUrl>/parts/<n>`. */
export const prepareUpload = operation(
  `mutation ($input: PrepareFlashArtifactUploadInput) {
    prepareFlashArtifactUpload(input: $input) { uploadUrl objectKey expiresAt isUploaded partBytes partsUploaded }
  }`,
  {
    prepareFlashArtifactUpload: z.object({
      uploadUrl: string,
      objectKey: string,
      expiresAt: string,
      /** The service has this artifact already. */
      isUploaded: z.boolean(),
      partBytes: z.number().int().positive(),
      /** Numbers of the parts that have been uploaded, from 1. */
      partsUploaded: z.array(z.number().int().positive()),
    }),
  },
);

export const finalizeUpload = operation(
  `mutation ($input: FinalizeFlashArtifactUploadInput) { finalizeFlashArtifactUpload(input: $input) { id } }`,
  { finalizeFlashArtifactUpload: z.object({ id: string }) },
);

export const deployBuild = operation(
  `mutation ($input: DeployBuildToEnvironmentInput) { deployBuildToEnvironment(input: $input) { id } }`,
  { deployBuildToEnvironment: z.object({ id: string }) },
);

/** Reports how a deployment ended: DEPLOYED or FAILED. */
export const finishDeployment = operation(
  `mutation ($input: FinishFlashDeploymentInput) { finishFlashDeployment(input: $input) { id state } }`,
  { finishFlashDeployment: z.object({ id: string, state: string }) },
);

export const updateManifest = operation(
  `mutation ($input: UpdateFlashBuildManifestInput) { updateFlashBuildManifest(input: $input) { id } }`,
  { updateFlashBuildManifest: z.object({ id: string }) },
);

export const buildById = operation(
  "query ($id: String) { flashBuild(flashBuildId: $id) { id sha256 manifest } }",
  {
    flashBuild: z
      .object({ id: string, sha256: string.nullable(), manifest: flashManifestSchema.nullable() })
      .nullable(),
  },
);

/** A live session: an environment with a lease. */
const sessionSchema = z.object({ id: string, name: string, leaseExpiresAt: string, liveToken: string });
export type OpenedSession = z.infer<typeof sessionSchema>;

const SESSION_FIELDS = "id name leaseExpiresAt liveToken";

export const createSession = operation(
  `mutation ($input: CreateFlashEnvironmentInput) { createFlashEnvironment(input: $input) { ${SESSION_FIELDS} } }`,
  { createFlashEnvironment: sessionSchema },
);

/** Fails once the lease has expired. */
export const renewLease = operation(
  `mutation ($input: RenewFlashEnvironmentLeaseInput) {
    renewFlashEnvironmentLease(input: $input) { ${SESSION_FIELDS} }
  }`,
  { renewFlashEnvironmentLease: sessionSchema },
);

/** The session was deleted, or its lease has expired. */
export function isSessionNotFound(error: unknown): boolean {
  return error instanceof ServiceFailure && error.code === "FLASH_ENVIRONMENT_NOT_FOUND";
}
