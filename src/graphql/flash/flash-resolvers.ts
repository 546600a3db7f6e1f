import type { EndpointRecord } from "../../management/endpoints/endpoints.ts";
import { liveToken, downloadToken } from "../../auth/derived-keys.ts";
import type { RequestContext } from "../../management/context.ts";
import { createApp, deleteApp, requireAppByName, type FlashAppRecord } from "../../management/flash/apps.ts";
import {
  changeManifest,
  finalizeUpload,
  withUrls,
  type FlashBuildRecord,
  type Json,
} from "../../management/flash/builds.ts";
import {
  createEnvironment,
  deleteEnvironment,
  deployBuild,
  findEnvironment,
  findEnvironmentByName,
  finishDeployment,
  type FlashEnvironmentRecord,
} from "../../management/flash/environments.ts";
import {
  appArgumentSchema,
  appCreationSchema,
  deploymentEndSchema,
  deploymentSchema,
  environmentArgumentSchema,
  environmentCreationSchema,
  environmentSearchSchema,
  finalizationSchema,
  leaseRenewalSchema,
  manifestChangeSchema,
  uploadAnnouncementSchema,
} from "../../management/flash/flash-input.ts";
import { renewLease } from "../../management/flash/sessions.ts";
import { prepareUpload, ARTIFACT_DOWNLOAD_TTL_MS } from "../../management/flash/uploads.ts";
import { attachedIds, type NetworkVolumeRecord } from "../../management/endpoints/volumes.ts";
import { withArguments, withInput, withoutArguments, type GraphqlContext } from "../context.ts";

type ArtifactView = {
  readonly objectKey: string;
  readonly downloadUrl: string | null;
  readonly expiresAt: number;
};

const queries = {
  flashApp: async (
    _parent: unknown,
    { flashAppId }: { readonly flashAppId?: string | null },
    { loaders }: GraphqlContext,
  ): Promise<FlashAppRecord | undefined> =>
    (await loaders.flashApps.load()).find(({ id }) => id === flashAppId),
  flashAppByName: async (
    _parent: unknown,
    { flashAppName }: { readonly flashAppName?: string | null },
    context: RequestContext,
  ): Promise<FlashAppRecord> => await requireAppByName(context, flashAppName ?? ""),
  flashEnvironment: async (
    _parent: unknown,
    { flashEnvironmentId }: { readonly flashEnvironmentId?: string | null },
    context: RequestContext,
  ): Promise<FlashEnvironmentRecord | undefined> => await findEnvironment(context, flashEnvironmentId ?? ""),
  flashEnvironmentByName: withInput(environmentSearchSchema, findEnvironmentByName),
  flashBuild: async (
    _parent: unknown,
    { flashBuildId }: { readonly flashBuildId?: string | null },
    { loaders }: GraphqlContext,
  ): Promise<FlashBuildRecord | undefined> => await loaders.flashBuild.load(flashBuildId ?? ""),
};

const mutations = {
  createFlashApp: withInput(appCreationSchema, createApp),
  deleteFlashApp: withArguments(appArgumentSchema, (context, { flashAppId }) =>
    deleteApp(context, flashAppId),
  ),
  createFlashEnvironment: withInput(environmentCreationSchema, createEnvironment),
  renewFlashEnvironmentLease: withInput(leaseRenewalSchema, renewLease),
  deleteFlashEnvironment: withArguments(environmentArgumentSchema, (context, { flashEnvironmentId }) =>
    deleteEnvironment(context, flashEnvironmentId),
  ),
  prepareFlashArtifactUpload: withInput(uploadAnnouncementSchema, prepareUpload),
  finalizeFlashArtifactUpload: withInput(finalizationSchema, finalizeUpload),
  updateFlashBuildManifest: withInput(manifestChangeSchema, changeManifest),
  deployBuildToEnvironment: withInput(deploymentSchema, deployBuild),
  finishFlashDeployment: withInput(deploymentEndSchema, finishDeployment),
};

export const flashResolvers = {
  Query: queries,
  Mutation: mutations,

  User: { flashApps: withoutArguments(({ loaders }) => loaders.flashApps.load()) },

  FlashApp: {
    flashEnvironments: async ({ id }: FlashAppRecord, _args: unknown, { loaders }: GraphqlContext) =>
      await loaders.flashEnvironmentsOf.load(id),
    flashBuilds: async ({ id }: FlashAppRecord, _args: unknown, { loaders }: GraphqlContext) =>
      await loaders.flashBuildsOf.load(id),
  },

  FlashEnvironment: {
    /** Its holder can have workers run any code, so only a key that may save endpoints sees it. */
    liveToken: async (
      { id, leaseExpiresAt }: FlashEnvironmentRecord,
      _args: unknown,
      { env, principal }: RequestContext,
    ): Promise<string | null> => {
      const isVisible = leaseExpiresAt !== null && principal.permissions.graphql === "write";
      return (isVisible ? await liveToken(env, id) : undefined) ?? null;
    },
    endpoints: async ({ id }: FlashEnvironmentRecord, _args: unknown, { loaders }: GraphqlContext) =>
      await endpointsOf(loaders, id),
    networkVolumes: async (
      { id }: FlashEnvironmentRecord,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<readonly NetworkVolumeRecord[]> => {
      const volumeIds = new Set((await endpointsOf(loaders, id)).flatMap(attachedIds));
      const volumes = await Promise.all([...volumeIds].map((volumeId) => loaders.volume.load(volumeId)));
      return volumes.flatMap((volume) => volume ?? []);
    },
    activeArtifact: async (
      { activeBuildId }: FlashEnvironmentRecord,
      _args: unknown,
      { loaders, env, now, origin }: GraphqlContext,
    ): Promise<ArtifactView | null> => {
      const build = activeBuildId === null ? undefined : await loaders.flashBuild.load(activeBuildId);
      if (build === undefined) return null;
      const expiresAt = now + ARTIFACT_DOWNLOAD_TTL_MS;
      const token = await downloadToken(env, build.id, expiresAt);
      const downloadUrl = token === undefined ? null : `${origin}/artifacts/downloads/${token}`;
      return { objectKey: build.objectKey, downloadUrl, expiresAt };
    },
  },

  FlashBuild: {
    manifest: async (
      { id }: FlashBuildRecord,
      _args: unknown,
      context: GraphqlContext,
    ): Promise<Json | null> => {
      const found = await context.loaders.flashManifest.load(id);
      return found === undefined ? null : await withUrls(context, found.manifest);
    },
  },
};

async function endpointsOf(
  loaders: GraphqlContext["loaders"],
  environmentId: string,
): Promise<readonly EndpointRecord[]> {
  const endpoints = await loaders.endpoints.load();
  return endpoints.filter(({ flashEnvironmentId }) => flashEnvironmentId === environmentId);
}
