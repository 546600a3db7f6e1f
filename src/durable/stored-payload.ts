/** Payloads in R2: their keys, and how they are read. */
import type { Payload } from "../domain/jobs/job-machine.ts";

export type StoredPayload = Extract<Payload, { readonly kind: "stored" }>;

/** The bytes of a payload, without the spaces behind it; undefined when the object was removed in the meantime. */
export async function openPayload(
  bucket: R2Bucket,
  { key, sizeBytes }: StoredPayload,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const object = await bucket.get(key, { range: { offset: 0, length: sizeBytes } });
  return object && object.size >= sizeBytes ? object.body : undefined;
}

/** Whether the payload is stored. */
export async function hasPayload(bucket: R2Bucket, { key, sizeBytes }: StoredPayload): Promise<boolean> {
  const object = await bucket.head(key);
  return object !== null && object.size >= sizeBytes;
}

/**
 * Prefix of the keys of an endpoint's payloads, which are removed together when it is deleted. Every key ends in
 * something that cannot be guessed: a random name or a job id.
 */
export function payloadPrefix(endpointId: string): string {
  return `jobs/${endpointId}/`;
}

export function payloadKey(endpointId: string, randomName: string): string {
  return `${payloadPrefix(endpointId)}${randomName}`;
}

/** An attempt has one key for its result, so the result can be removed without knowing whether it was stored. */
export function resultKey(endpointId: string, jobId: string, attempt: number): string {
  return `${payloadPrefix(endpointId)}${jobId}/${attempt}`;
}
