/** What artifacts of an account may take in R2. */
import { ARTIFACT_STORAGE_DEFAULT_GB } from "../../contract/flash-limits.ts";
import { artifactBytesOf } from "../../db/flash-uploads.ts";
import type { Env } from "../../env.ts";
import type { RequestContext } from "../context.ts";
import { OperationError } from "../operation-error.ts";

const GIGABYTE = 1_000_000_000;

/** ARTIFACT_STORAGE_GB in bytes, if it is a size that makes sense. */
export function artifactStorageBytes({ ARTIFACT_STORAGE_GB }: Pick<Env, "ARTIFACT_STORAGE_GB">): number {
  const gigabytes = Number(ARTIFACT_STORAGE_GB ?? Number.NaN);
  return (gigabytes > 0 ? gigabytes : ARTIFACT_STORAGE_DEFAULT_GB) * GIGABYTE;
}

/** Refuses an artifact that the account has no storage for. */
export async function requireArtifactStorage(
  { env, db, principal }: RequestContext,
  sizeBytes: number,
): Promise<void> {
  const [used, limit] = [await artifactBytesOf(db, principal.accountId), artifactStorageBytes(env)];
  if (used + sizeBytes <= limit) return;
  throw new OperationError(
    "LIMIT_REACHED",
    `Artifacts of the account take ${inGigabytes(used)} GB, and this one has ${inGigabytes(sizeBytes)} GB; together ` +
      `they may take ${inGigabytes(limit)} GB. Delete apps or builds that are not used any more (flash app delete), ` +
      "or ask the operator for a higher ARTIFACT_STORAGE_GB.",
  );
}

function inGigabytes(bytes: number): string {
  return (bytes / GIGABYTE).toFixed(2);
}
