/** Artifacts on their way through the edge: uploads that are open, and files that may be sent. */
import { mayBeIssued } from "../../auth/credential.ts";
import { buildOfDownloadToken } from "../../auth/derived-keys.ts";
import { hashKey } from "../../auth/digest.ts";
import { countFailure, countRequest, refuseExhausted } from "../../auth/request-rates.ts";
import type { Artifact } from "../../contract/agent/artifact.ts";
import { ServiceError } from "../../contract/errors.ts";
import { openDatabase, type Database } from "../../db/database.ts";
import { findAnyFlashBuild, findFlashBuildOf } from "../../db/flash/builds.ts";
import { findStoredArtifact } from "../../db/flash/deployments.ts";
import {
  beginFlashUploadParts,
  findOpenUploadByToken,
  saveFlashUploadPart,
  saveFoundHash,
  type FlashUploadRecord,
} from "../../db/flash/uploads.ts";
import type { Env } from "../../env.ts";
import { fleetObject } from "../objects.ts";

export type StoredArtifact = Artifact & { readonly objectKey: string };

/** The upload that a token opens. Throws not_found; counts wrong tokens of a network. */
export async function requireUpload(
  env: Env,
  token: string,
  network: string | undefined,
): Promise<OpenUpload> {
  const now = Date.now();
  if (!mayBeIssued(token)) throw uploadGone();
  if (network !== undefined) refuseExhausted("credentials", network, now);
  const tokenHash = await hashKey(token);
  await countRequest(env, "artifacts", tokenHash, now);
  const db = openDatabase(env.DB);
  const record = await findOpenUploadByToken(db, tokenHash, now);
  if (record !== undefined) return new OpenUpload(db, env.ARTIFACTS, record);
  if (network !== undefined) await countFailure(env, "credentials", network, now);
  throw uploadGone();
}

function uploadGone(): ServiceError {
  return new ServiceError(
    "not_found",
    "This upload has ended, or another one has taken its place. Prepare it again: received parts are kept.",
  );
}

export class OpenUpload {
  readonly bucket: R2Bucket;
  readonly record: FlashUploadRecord;
  readonly #db: Database;

  constructor(db: Database, bucket: R2Bucket, record: FlashUploadRecord) {
    this.#db = db;
    this.bucket = bucket;
    this.record = record;
  }

  /** Takes the hash of the whole artifact; throws not_found when the upload has ended in the meantime. */
  async saveHash(sha256: string): Promise<void> {
    const { id, accountId, appId, objectKey } = this.record;
    if (await saveFoundHash(this.#db, id, sha256)) return;
    // It has ended with a build of these bytes, or without one.
    if (await findFlashBuildOf(this.#db, accountId, appId, { objectKey })) return;
    await this.bucket.delete(objectKey);
    throw uploadGone();
  }

  /** R2's upload in parts; of several requests that begin it at once, the first decides. */
  async multipart(): Promise<MultipartUpload> {
    const begun = this.record.multipartId === null ? await this.#begin() : this.record;
    const multipart = this.bucket.resumeMultipartUpload(begun.objectKey, begun.multipartId ?? "");
    const savePart = async (number: number, etag: string): Promise<void> => {
      if (!(await saveFlashUploadPart(this.#db, begun, { number, etag }))) throw uploadGone();
    };
    return { multipart, savePart };
  }

  async #begin(): Promise<FlashUploadRecord> {
    const multipart = await this.bucket.createMultipartUpload(this.record.objectKey);
    const begun = await beginFlashUploadParts(this.#db, this.record.id, multipart.uploadId);
    if (begun?.multipartId !== multipart.uploadId) await multipart.abort();
    if (begun === undefined) throw uploadGone();
    return begun;
  }
}

type MultipartUpload = {
  readonly multipart: R2MultipartUpload;
  readonly savePart: (number: number, etag: string) => Promise<void>;
};

/** The artifact that a download token opens; undefined for a wrong or expired token and a deleted build. */
export async function findDownload(env: Env, token: string): Promise<StoredArtifact | undefined> {
  const now = Date.now();
  const buildId = await buildOfDownloadToken(env, token, now);
  if (buildId === undefined) return undefined;
  await countRequest(env, "artifacts", token, now);
  return await findAnyFlashBuild(openDatabase(env.DB), buildId);
}

/** An artifact of an app of which Fleet has placed a worker on the host. */
export async function findArtifactOfHost(
  env: Env,
  { hostId, accountId }: { readonly hostId: string; readonly accountId: string },
  sha256: string,
): Promise<StoredArtifact | undefined> {
  const assigned = await fleetObject(env, accountId).assignments(hostId);
  const endpointIds = assigned.kind === "removed" ? [] : assigned.workers.map(({ endpointId }) => endpointId);
  const stored = await findStoredArtifact(openDatabase(env.DB), accountId, endpointIds, sha256);
  return stored && { ...stored, sha256 };
}
