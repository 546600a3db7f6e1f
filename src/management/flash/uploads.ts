/** Announcing the upload of an artifact. */
import { generateCredential } from "../../auth/credential.ts";
import { hashKey } from "../../auth/digest.ts";
import { FLASH_BUILDS_RETAINED } from "./artifact-removal.ts";
import { findFlashBuildOf } from "../../db/flash/builds.ts";
import type { FlashAppRecord } from "../../db/flash/apps.ts";
import {
  findOpenUploadOf,
  insertFlashUploadWithinQuota,
  listFlashUploadParts,
  renewFlashUpload,
  artifactBytesOf,
  type FlashUploadRecord,
} from "../../db/flash/uploads.ts";
import { randomRowId } from "../../db/row-id.ts";
import { partBytesOf } from "./artifact-parts.ts";
import { requireQuota } from "../quota.ts";
import { authorOf, retryOnConflict, type RequestContext } from "../context.ts";
import { requireApp } from "./apps.ts";
import type { UploadAnnouncement } from "./flash-input.ts";
import { AwsClient } from "aws4fetch";
import type { Env } from "../../env.ts";
import { bytesOfVariable, inGigabytes } from "../../domain/limits/gigabytes.ts";
import { ServiceError } from "../../contract/errors.ts";

/** Artifacts of an account, in GB, unless ARTIFACT_STORAGE_GB is set; open uploads count in full. */
const ARTIFACT_STORAGE_DEFAULT_GB = 200;

/** For which the address of a stored artifact opens it. */
export const ARTIFACT_DOWNLOAD_TTL_MS = 3_600_000;

/** How long an upload may be resumed. */
export const ARTIFACT_UPLOAD_TTL_MS = 86_400_000;

export type PreparedUpload = {
  /** Empty when nothing needs to be sent. */
  readonly uploadUrl: string;
  readonly objectKey: string;
  readonly expiresAt: number;
  readonly isUploaded: boolean;
  readonly partBytes: number;
  readonly partsUploaded: readonly number[];
};

/** Returns an address for an artifact. An upload that was announced with its SHA-256 continues where it stopped. */
export async function prepareUpload(
  context: RequestContext,
  announced: UploadAnnouncement,
): Promise<PreparedUpload> {
  const { db, principal, env, now } = context;
  const app = await requireApp(context, announced.flashAppId);
  const { tarballSha256: sha256, tarballSize: sizeBytes } = announced;
  const expiresAt = now + ARTIFACT_UPLOAD_TTL_MS;
  const common = { expiresAt, partBytes: partBytesOf(sizeBytes) };

  const existing = sha256 && (await findFlashBuildOf(db, principal.accountId, app.id, { sha256 }));
  if (existing) return { ...common, ...nothingToSend(existing.objectKey) };
  const token = generateCredential("upload-token");
  const upload = await openUpload(context, app, { sizeBytes, sha256, token, expiresAt });
  const { objectKey } = upload;
  if (sha256 && (await env.ARTIFACTS.head(objectKey)) !== null) {
    return { ...common, ...nothingToSend(objectKey) };
  }
  const presigned = sha256 ? undefined : await presignedUpload(env, objectKey, now);
  const parts = upload.multipartId === null ? [] : await listFlashUploadParts(db, upload.id);
  return {
    ...common,
    uploadUrl: `${context.origin}/artifacts/uploads/${token}`,
    objectKey,
    isUploaded: false,
    partsUploaded: parts.map(({ number }) => number),
    ...presigned,
  };
}

function nothingToSend(objectKey: string) {
  return { uploadUrl: "", objectKey, isUploaded: true, partsUploaded: [] };
}

type Opening = {
  readonly sizeBytes: number;
  readonly sha256: string | undefined;
  readonly token: string;
  readonly expiresAt: number;
};

async function openUpload(
  context: RequestContext,
  app: FlashAppRecord,
  { sizeBytes, sha256, token, expiresAt }: Opening,
): Promise<FlashUploadRecord> {
  const { db, principal, now } = context;
  const author = authorOf(context);
  const tokenHash = await hashKey(token);
  return await retryOnConflict(async () => {
    const begun = sha256 && (await findOpenUploadOf(db, app, { sha256, sizeBytes }, now));
    if (begun) return await renewFlashUpload(db, author, begun.id, { tokenHash, expiresAt });
    await requireQuota(context, "flashUpload");
    await requireArtifactStorage(context, sizeBytes);
    const id = randomRowId();
    const record = {
      id,
      accountId: principal.accountId,
      appId: app.id,
      objectKey: `${principal.accountId}/${app.id}/${id}.tar.gz`,
      tokenHash,
      sizeBytes,
      sha256: sha256 ?? null,
      multipartId: null,
      createdAt: now,
      expiresAt,
    };
    return await insertFlashUploadWithinQuota(db, author, record, artifactStorageBytes(context.env));
  });
}

export type PresignedUpload = { readonly uploadUrl: string; readonly expiresAt: number };

/** An address for one PUT of an object; none where no S3 credentials of R2 are configured. */
export async function presignedUpload(
  env: Env,
  objectKey: string,
  now: number,
): Promise<PresignedUpload | undefined> {
  const { ARTIFACTS_S3_ENDPOINT: endpoint, ARTIFACTS_S3_BUCKET: bucket } = env;
  const { ARTIFACTS_S3_ACCESS_KEY_ID: accessKeyId, ARTIFACTS_S3_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!endpoint || !bucket || !accessKeyId || !secretAccessKey) return undefined;

  const url = new URL(`${bucket}/${objectKey}`, endpoint.endsWith("/") ? endpoint : `${endpoint}/`);
  url.searchParams.set("X-Amz-Expires", String(ARTIFACT_DOWNLOAD_TTL_MS / 1_000));
  const client = new AwsClient({ accessKeyId, secretAccessKey, service: "s3", region: "auto" });
  const signed = await client.sign(url.toString(), { method: "PUT", aws: { signQuery: true } });
  return { uploadUrl: signed.url, expiresAt: now + ARTIFACT_DOWNLOAD_TTL_MS };
}

/** ARTIFACT_STORAGE_GB in bytes, if it is a size that makes sense. */
export function artifactStorageBytes({ ARTIFACT_STORAGE_GB }: Pick<Env, "ARTIFACT_STORAGE_GB">): number {
  return bytesOfVariable(ARTIFACT_STORAGE_GB, ARTIFACT_STORAGE_DEFAULT_GB);
}

/** Rejects an artifact for which the account has no storage left. */
export async function requireArtifactStorage(
  { env, db, principal }: RequestContext,
  sizeBytes: number,
): Promise<void> {
  const [used, limit] = [await artifactBytesOf(db, principal.accountId), artifactStorageBytes(env)];
  if (used + sizeBytes <= limit) return;
  throw new ServiceError(
    "limit_reached",
    `Artifacts of the account take ${inGigabytes(used)} GB, and this one has ${inGigabytes(sizeBytes)} GB; together ` +
      `they may take ${inGigabytes(limit)} GB. Delete apps that are not used any more (\`flash app list\`, ` +
      `\`flash app delete NAME\`), or ask the operator for a higher ARTIFACT_STORAGE_GB. Of the builds that no ` +
      `environment uses, the newest ${FLASH_BUILDS_RETAINED} of each app are kept; older ones go by themselves.`,
  );
}
