import type { Context } from "hono";
import { mayBeIssued } from "../../auth/credential.ts";
import { hashKey } from "../../auth/digest.ts";
import { countFailure, countRequest, networkOf, refuseExhausted } from "../../auth/request-rates.ts";
import { openDatabase, type Database } from "../../db/database.ts";
import { findOpenUploadByToken, type FlashUploadRecord } from "../../db/flash/uploads.ts";
import type { Env } from "../../env.ts";
import { ServiceError } from "../../contract/errors.ts";

export type ArtifactsApi = { Bindings: Env };
export type ArtifactsContext = Context<ArtifactsApi>;

/** An upload that is open, and where it is written to. */
export type OpenUpload = {
  readonly upload: FlashUploadRecord;
  readonly db: Database;
  readonly bucket: R2Bucket;
};

/** The upload that the token in the address opens. */
export async function requireUpload({ env, req }: ArtifactsContext): Promise<OpenUpload> {
  const now = Date.now();
  const token = req.param("token") ?? "";
  if (!mayBeIssued(token)) throw uploadGone();
  const network = networkOf(env, req.raw);
  if (network !== undefined) refuseExhausted("credentials", network, now);
  const tokenHash = await hashKey(token);
  await countRequest(env, "artifacts", tokenHash, now);
  const db = openDatabase(env.DB);
  const upload = await findOpenUploadByToken(db, tokenHash, now);
  if (upload === undefined) {
    if (network !== undefined) await countFailure(env, "credentials", network, now);
    throw uploadGone();
  }
  return { upload, db, bucket: env.ARTIFACTS };
}

export function uploadGone(): ServiceError {
  return new ServiceError(
    "not_found",
    "This upload has ended, or another one has taken its place. Prepare it again: parts that have come are kept.",
  );
}
