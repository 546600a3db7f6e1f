import { DISCARDED_BODY_MAX_BYTES } from "../contract/limits.ts";

/**
 * Reads what is left of the body of a refused request, within reason. Many clients do not listen before they
 * have sent all, and would see a broken connection instead of the refusal.
 */
export async function discardBody({ body }: Request): Promise<void> {
  if (!body || body.locked) return;
  const reader = body.getReader();
  try {
    for (let sizeBytes = 0; sizeBytes < DISCARDED_BODY_MAX_BYTES;) {
      const { done, value } = await reader.read();
      if (done) return;
      sizeBytes += value.byteLength;
    }
  } catch {
    // The client has gone.
  }
}
