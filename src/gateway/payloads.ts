/** Payloads of jobs: small ones are passed inline, large ones by the key of their R2 object. */
import type { RawJson } from "../json/raw-json.ts";
import { ServiceError } from "../contract/errors.ts";
import { INLINE_PAYLOAD_MAX_BYTES } from "../contract/limits.ts";
import type { Payload } from "../domain/jobs/job-machine.ts";
import { payloadKey } from "../durable/stored-payload.ts";

export type MeasuredPayload = Payload & { readonly sizeBytes: number };

export function freshPayloadKey(endpointId: string): string {
  return payloadKey(endpointId, crypto.randomUUID());
}

/** Stores a large payload in R2; a small one stays inline. */
export async function storePayload(
  bucket: R2Bucket,
  endpointId: string,
  text: RawJson,
): Promise<MeasuredPayload> {
  const { sizeBytes } = text;
  if (sizeBytes <= INLINE_PAYLOAD_MAX_BYTES) return { kind: "inline", json: text.json, sizeBytes };
  const key = freshPayloadKey(endpointId);
  await bucket.put(key, text.bytes);
  return { kind: "stored", key, sizeBytes };
}

export async function dropPayload(bucket: R2Bucket, payload: Payload | null): Promise<void> {
  if (payload?.kind === "stored") await bucket.delete(payload.key);
}

/**
 * Whether the edge has refused a call for certain, so that what was stored for it is of no use. After any other error
 * the object may have taken it, and only the answer was lost.
 */
export function isRejection(error: unknown): boolean {
  return error instanceof ServiceError;
}
