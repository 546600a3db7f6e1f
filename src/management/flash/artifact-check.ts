/** Whether what was uploaded is what was announced. */
import { ignoreFailure } from "../../std/errors.ts";
import type { Artifact } from "../../contract/agent/artifact.ts";
import type { Database } from "../../db/database.ts";
import {
  endFlashUpload,
  deleteFlashUploadParts,
  listFlashUploadParts,
  type FlashUploadRecord,
} from "../../db/flash/uploads.ts";
import { countOfParts } from "./artifact-parts.ts";
import type { Env } from "../../env.ts";
import { ServiceError } from "../../contract/errors.ts";

type Place = { readonly env: Pick<Env, "ARTIFACTS">; readonly db: Database; readonly now: number };

/** What R2 reports of parts that will never fit together: too small, unknown upload, unknown part, unequal. */
const UNRECOVERABLE = /\((?:10011|10024|10025|10048)\)/;
const GZIP_MAGIC = [0x1f, 0x8b];
const PARTS_LISTED_MAX = 10;

/** The artifact of an upload, put together of its parts if it came in parts; refuses what is not as announced. */
export async function verifiedArtifact(place: Place, upload: FlashUploadRecord): Promise<Artifact> {
  const bucket = place.env.ARTIFACTS;
  const object = (await bucket.head(upload.objectKey)) ?? (await completeUpload(place, upload));
  if (object.size !== upload.sizeBytes) {
    throw await reject(place, upload, `has ${object.size} bytes; ${upload.sizeBytes} were announced`);
  }
  if (!(await isGzip(bucket, upload.objectKey))) {
    throw await reject(place, upload, "is no gzipped archive");
  }
  const sha256 = verifiedHash(object, upload) ?? (await readHash(bucket, upload.objectKey));
  if (upload.sha256 !== null && sha256 !== upload.sha256) {
    throw await reject(place, upload, `has the SHA-256 ${sha256}; ${upload.sha256} was announced`);
  }
  return { sha256, sizeBytes: object.size };
}

async function completeUpload({ env, db }: Place, upload: FlashUploadRecord): Promise<R2Object> {
  const { id, objectKey, multipartId, sizeBytes } = upload;
  const parts = await listFlashUploadParts(db, id);
  const missing = missingParts(countOfParts(sizeBytes), new Set(parts.map(({ number }) => number)));
  if (multipartId === null || missing.length > 0) throw notComplete(objectKey, missing, multipartId !== null);

  const multipart = env.ARTIFACTS.resumeMultipartUpload(objectKey, multipartId);
  const uploaded = parts.map(({ number, etag }) => ({ partNumber: number, etag }));
  return await multipart.complete(uploaded).catch(async (cause: unknown) => {
    const object = await env.ARTIFACTS.head(objectKey); // another request was faster
    if (object !== null) return object;
    if (!(cause instanceof Error) || !UNRECOVERABLE.test(cause.message)) throw cause;
    await deleteFlashUploadParts(db, id);
    await multipart.abort().catch(ignoreFailure);
    throw new ServiceError(
      "artifact_not_found",
      `objectKey: the parts of artifact '${objectKey}' do not fit together. Prepare the upload again and send all of them.`,
    );
  });
}

function missingParts(count: number, present: ReadonlySet<number>): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1).filter((number) => !present.has(number));
}

function notComplete(objectKey: string, missing: readonly number[], hasBegun: boolean): ServiceError {
  const named = missing.slice(0, PARTS_LISTED_MAX).join(", ");
  const more = missing.length > PARTS_LISTED_MAX ? ", …" : "";
  const what = hasBegun ? `lacks these parts: ${named}${more}` : "was not uploaded yet";
  return new ServiceError(
    "artifact_not_found",
    `objectKey: artifact '${objectKey}' ${what}. Send it to the uploadUrl and finalize again.`,
  );
}

/** R2 has checked what it calls the SHA-256, and the edge what it found while the whole came in one request. */
function verifiedHash(
  { checksums }: R2Object,
  { sha256, multipartId }: FlashUploadRecord,
): string | undefined {
  if (checksums.sha256) return hex(checksums.sha256);
  return multipartId === null ? (sha256 ?? undefined) : undefined;
}

async function readHash(bucket: R2Bucket, objectKey: string): Promise<string> {
  const object = await bucket.get(objectKey);
  if (object === null) throw notComplete(objectKey, [], false);
  const digest = new crypto.DigestStream("SHA-256");
  await object.body.pipeTo(digest);
  return hex(await digest.digest);
}

async function isGzip(bucket: R2Bucket, objectKey: string): Promise<boolean> {
  const object = await bucket.get(objectKey, { range: { offset: 0, length: GZIP_MAGIC.length } });
  const head = new Uint8Array((await object?.arrayBuffer()) ?? []);
  return GZIP_MAGIC.every((byte, index) => head[index] === byte);
}

/** The problem is permanent, so the upload cannot be resumed. */
async function reject({ env, db, now }: Place, upload: FlashUploadRecord, issue: string): Promise<Error> {
  await endFlashUpload(db, upload.id, now);
  await env.ARTIFACTS.delete(upload.objectKey);
  return new ServiceError(
    "invalid_input",
    `objectKey: what was uploaded ${issue}. Prepare a new upload and send the artifact again.`,
  );
}

function hex(bytes: ArrayBuffer): string {
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
