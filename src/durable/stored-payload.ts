/** Payloads that lie in R2. */
import type { Payload } from "../domain/jobs/job-machine.ts";

export type StoredPayload = Extract<Payload, { readonly kind: "stored" }>;

/** The bytes of a payload, without the spaces behind it; undefined when it was removed in the meantime. */
export async function openPayload(
  bucket: R2Bucket,
  { key, sizeBytes }: StoredPayload,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const object = await bucket.get(key, { range: { offset: 0, length: sizeBytes } });
  return object && object.size >= sizeBytes ? object.body : undefined;
}
