/** Builds of flash apps: artifacts with what they say of themselves. */
import { isCompleteManifest, namedEndpoints, manifestIdentity } from "./build-manifest.ts";
import type { Artifact } from "../../contract/agent/artifact.ts";
import type { FlashManifest } from "../../contract/flash/flash-manifest.ts";
import { findOwnEndpoints, listEndpointsOfEnvironment, type EndpointRecord } from "../../db/endpoints.ts";
import {
  changeFlashManifest,
  findFlashBuild,
  findFlashBuildOf,
  insertFlashBuildIfStored,
  type FlashBuildRecord,
} from "../../db/flash/builds.ts";
import { listFlashEnvironments } from "../../db/flash/environments.ts";
import { findFlashUploadByKey, type FlashUploadRecord } from "../../db/flash/uploads.ts";
import type { FlashAppRecord } from "../../db/flash/apps.ts";
import { derivedRowId } from "../../db/row-id.ts";
import { authorOf, retryOnConflict, type RequestContext } from "../context.ts";
import { ServiceError } from "../../contract/errors.ts";
import { requireApp } from "./apps.ts";
import { verifiedArtifact } from "./artifact-check.ts";
import type { Finalization, ManifestChange } from "./flash-input.ts";
import type { Json } from "../../db/schema.ts";

export type { FlashBuildRecord, Json };

export async function requireBuild(
  { db, principal }: RequestContext,
  buildId: string,
): Promise<FlashBuildRecord> {
  const build = await findFlashBuild(db, principal.accountId, buildId);
  if (build === undefined) throw buildNotFound(buildId);
  return build;
}

export function buildNotFound(buildId: string): ServiceError {
  return new ServiceError("flash_build_not_found", `flashBuildId: flash build '${buildId}' was not found`);
}

/** Makes a build of what was uploaded, once it is known to be what was announced; doing it again gives the same. */
export async function finalizeUpload(
  context: RequestContext,
  { flashAppId, objectKey, manifest }: Finalization,
): Promise<FlashBuildRecord> {
  const { db, principal } = context;
  const app = await requireApp(context, flashAppId);
  return await retryOnConflict(async () => {
    const upload = await findFlashUploadByKey(db, app, objectKey);
    const { sha256, sizeBytes } = await requireArtifact(context, app, objectKey, upload);
    const id = await derivedRowId(`${app.id} ${sha256} ${manifestIdentity(manifest)}`);
    const sharing = await findFlashBuildOf(db, principal.accountId, app.id, { sha256 });
    const stored = { objectKey: sharing?.objectKey ?? objectKey, sha256, sizeBytes };
    const values = { id, appId: app.id, ...stored, manifest };
    return await insertFlashBuildIfStored(db, authorOf(context), values, upload);
  });
}

/** What an upload has brought, or a build has that was made of it before. */
async function requireArtifact(
  { db, env, principal: { accountId }, now }: RequestContext,
  { id: appId }: FlashAppRecord,
  objectKey: string,
  upload: FlashUploadRecord | undefined,
): Promise<Artifact> {
  if (upload && upload.expiresAt > now) return await verifiedArtifact({ db, env, now }, upload);
  const build = await findFlashBuildOf(db, accountId, appId, { objectKey });
  const same = upload?.sha256 && (await findFlashBuildOf(db, accountId, appId, { sha256: upload.sha256 }));
  const existing = build ?? same;
  if (existing) return existing;
  throw new ServiceError(
    "artifact_not_found",
    `objectKey: artifact '${objectKey}' was not found; an upload ends a day after it was prepared. Prepare a new one.`,
  );
}

/** Records where the resources of a build are; once all their addresses are known, its deployment has succeeded. */
export async function changeManifest(
  context: RequestContext,
  { flashBuildId, manifest }: ManifestChange,
): Promise<FlashBuildRecord> {
  const build = await requireBuild(context, flashBuildId);
  const deployedTo = isCompleteManifest(manifest) ? await deployedBy(context, build, manifest) : [];
  const changed = await changeFlashManifest(context.db, authorOf(context), build.id, manifest, deployedTo);
  if (changed === undefined) throw buildNotFound(flashBuildId);
  return changed;
}

/** Environments that a manifest speaks of: those of its endpoints, or when it names none all of the app. */
async function deployedBy(
  { db, principal: { accountId } }: RequestContext,
  { appId }: FlashBuildRecord,
  manifest: FlashManifest,
): Promise<readonly string[]> {
  const endpointIds = namedEndpoints(manifest);
  if (endpointIds.length === 0) {
    return (await listFlashEnvironments(db, accountId, [appId])).map(({ id }) => id);
  }
  const endpoints = await findOwnEndpoints(db, accountId, endpointIds);
  return endpoints.flatMap(({ flashEnvironmentId }) => flashEnvironmentId ?? []);
}

/**
 * A worker of an environment learns where the environment's endpoints are now, under the address by which it
 * has called the edge: a build may be deployed to several environments, and its deployer may use another address.
 */
export async function withUrls(context: RequestContext, manifest: Json): Promise<Json> {
  const { db, principal, origin } = context;
  const { flashEnvironmentId, accountId } = principal;
  if (flashEnvironmentId === undefined || !isObject(manifest)) return manifest;
  const endpoints = await listEndpointsOfEnvironment(db, accountId, flashEnvironmentId);
  const urls = endpoints.map((endpoint) => [endpoint.name, urlOf(origin, endpoint)] as const);
  return { ...manifest, resources_endpoints: Object.fromEntries(urls) };
}

function urlOf(origin: string, { id, type }: EndpointRecord): string {
  return type === "LB" ? `${origin}/lb/${id}` : `${origin}/v2/${id}`;
}

function isObject(json: Json): json is { readonly [key: string]: Json } {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}
