/** Payloads of jobs: small ones travel as text, large ones lie in R2 and only their key travels. */
import type { JsonValue } from "../contract/json.ts";
import { INLINE_PAYLOAD_MAX_BYTES } from "../contract/limits.ts";
import type { Payload } from "../domain/job-machine.ts";
import { payloadKey } from "../domain/payload-key.ts";

export type MeasuredPayload = Payload & { readonly sizeBytes: number };

const encoder = new TextEncoder();

export function freshPayloadKey(endpointId: string): string {
  return payloadKey(endpointId, crypto.randomUUID());
}

/** Puts a value where it belongs. */
export async function storePayload(
  bucket: R2Bucket,
  endpointId: string,
  value: JsonValue,
): Promise<MeasuredPayload> {
  const json = JSON.stringify(value);
  // UTF-8 takes at most 3 bytes per UTF-16 unit, so most payloads need not be encoded to be measured.
  if (json.length * 3 <= INLINE_PAYLOAD_MAX_BYTES) return { kind: "inline", json, sizeBytes: json.length };
  const bytes = encoder.encode(json);
  const sizeBytes = bytes.byteLength;
  if (sizeBytes <= INLINE_PAYLOAD_MAX_BYTES) return { kind: "inline", json, sizeBytes };
  const key = freshPayloadKey(endpointId);
  await bucket.put(key, bytes);
  return { kind: "stored", key, sizeBytes };
}

export async function dropPayload(bucket: R2Bucket, payload: Payload | null): Promise<void> {
  if (payload?.kind === "stored") await bucket.delete(payload.key);
}
