import { ARTIFACT_DOWNLOAD_TTL_MS } from "../../contract/flash/flash-limits.ts";
import { downloadToken } from "../../auth/derived-keys/download-token.ts";
import { liveToken } from "../../auth/derived-keys/live-token.ts";
import type { EndpointRecord } from "../../db/endpoints.ts";
import type { FlashAppRecord } from "../../db/flash/apps.ts";
import type { FlashBuildRecord } from "../../db/flash/builds.ts";
import { findFlashEnvironmentByName, type FlashEnvironmentRecord } from "../../db/flash/environments.ts";
import type { NetworkVolumeRecord } from "../../db/network-volumes.ts";
import type { Json } from "../../db/schema.ts";
import type { RequestContext } from "../../management/context.ts";
import { createApp, deleteApp, requireAppByName } from "../../management/flash/apps.ts";
import { changeManifest, finalizeUpload } from "../../management/flash/builds.ts";
import {
  createEnvironment,
  deleteEnvironment,
  deployBuild,
  findEnvironment,
  finishDeployment,
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
import { withUrls } from "../../management/flash/manifests.ts";
import { prepareUpload, type PreparedUpload } from "../../management/flash/uploads.ts";
import { parseInput } from "../../management/input-schemas.ts";
import { attachedIds } from "../../management/endpoints/attached-volumes.ts";
import type { GraphqlContext } from "../context.ts";

type Arguments = { readonly input?: unknown };
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
  ): Promise<FlashAppRecord | null> =>
    (await loaders.flashApps.load()).find(({ id }) => id === flashAppId) ?? null,
  flashAppByName: async (
    _parent: unknown,
    { flashAppName }: { readonly flashAppName?: string | null },
    context: RequestContext,
  ): Promise<FlashAppRecord> => await requireAppByName(context, flashAppName ?? ""),
  flashEnvironment: async (
    _parent: unknown,
    { flashEnvironmentId }: { readonly flashEnvironmentId?: string | null },
    context: RequestContext,
  ): Promise<FlashEnvironmentRecord | null> =>
    (await findEnvironment(context, flashEnvironmentId ?? "")) ?? null,
  flashEnvironmentByName: async (
    _parent: unknown,
    { input }: Arguments,
    { db, principal }: RequestContext,
  ): Promise<FlashEnvironmentRecord | null> => {
    const { flashAppId, name } = parseInput(environmentSearchSchema, input);
    return (await findFlashEnvironmentByName(db, principal.accountId, flashAppId, name)) ?? null;
  },
  flashBuild: async (
    _parent: unknown,
    { flashBuildId }: { readonly flashBuildId?: string | null },
    { loaders }: GraphqlContext,
  ): Promise<FlashBuildRecord | null> => (await loaders.flashBuild.load(flashBuildId ?? "")) ?? null,
};

const mutations = {
  createFlashApp: async (
    _parent: unknown,
    { input }: Arguments,
    context: RequestContext,
  ): Promise<FlashAppRecord> => await createApp(context, parseInput(appCreationSchema, input)),
  deleteFlashApp: async (_parent: unknown, args: unknown, context: RequestContext): Promise<null> => {
    await deleteApp(context, parseInput(appArgumentSchema, args).flashAppId);
    return null;
  },
  createFlashEnvironment: async (
    _parent: unknown,
    { input }: Arguments,
    context: RequestContext,
  ): Promise<FlashEnvironmentRecord> =>
    await createEnvironment(context, parseInput(environmentCreationSchema, input)),
  renewFlashEnvironmentLease: async (
    _parent: unknown,
    { input }: Arguments,
    context: RequestContext,
  ): Promise<FlashEnvironmentRecord> => await renewLease(context, parseInput(leaseRenewalSchema, input)),
  deleteFlashEnvironment: async (_parent: unknown, args: unknown, context: RequestContext): Promise<null> => {
    await deleteEnvironment(context, parseInput(environmentArgumentSchema, args).flashEnvironmentId);
    return null;
  },
  prepareFlashArtifactUpload: async (
    _parent: unknown,
    { input }: Arguments,
    context: RequestContext,
  ): Promise<PreparedUpload> => await prepareUpload(context, parseInput(uploadAnnouncementSchema, input)),
  finalizeFlashArtifactUpload: async (
    _parent: unknown,
    { input }: Arguments,
    context: RequestContext,
  ): Promise<FlashBuildRecord> => await finalizeUpload(context, parseInput(finalizationSchema, input)),
  updateFlashBuildManifest: async (
    _parent: unknown,
    { input }: Arguments,
    context: RequestContext,
  ): Promise<FlashBuildRecord> => await changeManifest(context, parseInput(manifestChangeSchema, input)),
  deployBuildToEnvironment: async (
    _parent: unknown,
    { input }: Arguments,
    context: RequestContext,
  ): Promise<FlashEnvironmentRecord> => await deployBuild(context, parseInput(deploymentSchema, input)),
  finishFlashDeployment: async (
    _parent: unknown,
    { input }: Arguments,
    context: RequestContext,
  ): Promise<FlashEnvironmentRecord> =>
    await finishDeployment(context, parseInput(deploymentEndSchema, input)),
};

export const flashResolvers = {
  Query: queries,
  Mutation: mutations,

  User: {
    flashApps: async (
      _account: unknown,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<readonly FlashAppRecord[]> => await loaders.flashApps.load(),
  },

  FlashApp: {
    flashEnvironments: async ({ id }: FlashAppRecord, _args: unknown, { loaders }: GraphqlContext) =>
      await loaders.flashEnvironmentsOf.load(id),
    flashBuilds: async ({ id }: FlashAppRecord, _args: unknown, { loaders }: GraphqlContext) =>
      await loaders.flashBuildsOf.load(id),
  },

  FlashEnvironment: {
    /** Whoever has it can have workers run anything, as whoever may save endpoints can anyhow. */
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
