/** Payloads of jobs: small ones travel as text, large ones lie in R2 and only their key travels. */
import type { JsonValue } from "../contract/json.ts";
import { INLINE_PAYLOAD_MAX_BYTES } from "../contract/limits.ts";
import type { Payload } from "../domain/job-machine.ts";

const encoder = new TextEncoder();

/** Puts a value where it belongs. The key of a large one begins with the endpoint, so both go together. */
export async function storePayload(
  bucket: R2Bucket,
  endpointId: string,
  value: JsonValue,
): Promise<Payload & { readonly sizeBytes: number }> {
  const json = JSON.stringify(value);
  // UTF-8 takes at most 3 bytes per UTF-16 unit, so most payloads need not be encoded to be measured.
  if (json.length * 3 <= INLINE_PAYLOAD_MAX_BYTES) return { kind: "inline", json, sizeBytes: json.length };
  const bytes = encoder.encode(json);
  const sizeBytes = bytes.byteLength;
  if (sizeBytes <= INLINE_PAYLOAD_MAX_BYTES) return { kind: "inline", json, sizeBytes };
  const key = `jobs/${endpointId}/${crypto.randomUUID()}`;
  await bucket.put(key, bytes);
  return { kind: "stored", key, sizeBytes };
}

/** The JSON text of a payload; undefined when it was removed in the meantime. */
export async function loadPayload(bucket: R2Bucket, payload: Payload): Promise<string | undefined> {
  if (payload.kind === "inline") return payload.json;
  return (await bucket.get(payload.key))?.text();
}

export async function dropPayload(bucket: R2Bucket, payload: Payload | null): Promise<void> {
  if (payload?.kind === "stored") await bucket.delete(payload.key);
}

/** Writes `members` as a JSON object with one more member whose value is already JSON text. */
export function spliceJson(members: object, name: string, json: string): string {
  const rest = JSON.stringify(members);
  const member = `${JSON.stringify(name)}:${json}`;
  return rest === "{}" ? `{${member}}` : `${rest.slice(0, -1)},${member}}`;
}
