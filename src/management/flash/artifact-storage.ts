/** What artifacts of an account may take in R2. */
import { ARTIFACT_STORAGE_DEFAULT_GB, FLASH_BUILDS_RETAINED } from "../../contract/flash/flash-limits.ts";
import { artifactBytesOf } from "../../db/flash/uploads.ts";
import { bytesOfVariable, inGigabytes } from "../../domain/limits/gigabytes.ts";
import type { Env } from "../../env.ts";
import type { RequestContext } from "../context.ts";
import { ServiceError } from "../../contract/errors.ts";

/** ARTIFACT_STORAGE_GB in bytes, if it is a size that makes sense. */
export function artifactStorageBytes({ ARTIFACT_STORAGE_GB }: Pick<Env, "ARTIFACT_STORAGE_GB">): number {
  return bytesOfVariable(ARTIFACT_STORAGE_GB, ARTIFACT_STORAGE_DEFAULT_GB);
}

/** Refuses an artifact that the account has no storage for. */
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
