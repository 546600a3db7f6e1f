import { readBytes } from "./byte-stream.ts";

/** How much of the body of a rejected request is read, so that its sender sees the answer: all that Cloudflare accepts. */
const DISCARDED_BODY_MAX_BYTES = 100_000_000;

/**
 * Reads what is left of the body of a refused request, within reason. Many clients do not listen before they
 * have sent all, and would see a broken connection instead of the refusal.
 */
export async function discardBody({ body }: Request): Promise<void> {
  if (!body || body.locked) return;
  try {
    let sizeBytes = 0;
    for await (const bytes of readBytes(body)) {
      sizeBytes += bytes.byteLength;
      if (sizeBytes > DISCARDED_BODY_MAX_BYTES) return;
    }
  } catch {
    // The client has gone.
  }
}
