/** Addresses of R2 itself, which take larger requests than a Worker does. */
import { AwsClient } from "aws4fetch";
import { ARTIFACT_DOWNLOAD_TTL_MS } from "../../contract/flash/flash-limits.ts";
import type { Env } from "../../env.ts";

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
