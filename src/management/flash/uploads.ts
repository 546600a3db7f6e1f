/** Announcing the upload of an artifact. */
import { generateCredential } from "../../auth/credential.ts";
import { hashKey } from "../../auth/digest.ts";
import { ARTIFACT_UPLOAD_TTL_MS } from "../../contract/flash/flash-limits.ts";
import { findFlashBuildOf } from "../../db/flash/builds.ts";
import type { FlashAppRecord } from "../../db/flash/apps.ts";
import {
  findOpenUploadOf,
  insertFlashUploadWithinQuota,
  listFlashUploadParts,
  renewFlashUpload,
  type FlashUploadRecord,
} from "../../db/flash/uploads.ts";
import { randomRowId } from "../../db/row-id.ts";
import { partBytesOf } from "./artifact-parts.ts";
import { requireQuota } from "../quota.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { retryOnConflict } from "../optimistic-write.ts";
import { requireApp } from "./apps.ts";
import { artifactStorageBytes, requireArtifactStorage } from "./artifact-storage.ts";
import type { UploadAnnouncement } from "./flash-input.ts";
import { presignedUpload } from "./presigned-upload.ts";

export type PreparedUpload = {
  /** Empty when nothing needs to be sent. */
  readonly uploadUrl: string;
  readonly objectKey: string;
  readonly expiresAt: number;
  readonly isUploaded: boolean;
  readonly partBytes: number;
  readonly partsUploaded: readonly number[];
};

/** Gives an address for an artifact. One that was announced with its SHA-256 goes on where it stopped. */
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
