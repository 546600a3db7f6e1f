/** Bodies of requests: as they arrive, whole within a limit, or discarded. */

/** How much of the body of a rejected request is read, so that its sender sees the answer: all that Cloudflare accepts. */
const DISCARDED_BODY_MAX_BYTES = 100_000_000;
/** The runtime by itself delivers much smaller pieces, and each costs a turn of the event loop. */
const CHUNK_BYTES = 64 * 1024;

export type BodyReading =
  | { readonly kind: "whole"; readonly bytes: Uint8Array }
  | { readonly kind: "large" }
  | { readonly kind: "broken" };

/** The message for a body that ends too early, or whose chunks are malformed. */
export const BROKEN_BODY = "The body broke off, or its chunks are malformed. Send it again.";

/** The body, of at most `maxBytes`; the rest of a larger one stays in the request. */
export async function readWithin(request: Request, maxBytes: number): Promise<BodyReading> {
  const lengthBytes = announcedLength(request);
  if (lengthBytes !== null && lengthBytes > maxBytes) return { kind: "large" };
  try {
    // The runtime lets no more through than was announced.
    return lengthBytes === null
      ? await collect(request, maxBytes)
      : { kind: "whole", bytes: await request.bytes() };
  } catch {
    return { kind: "broken" };
  }
}

/** The announced length in bytes; null when the body says itself where it ends. */
export function announcedLength(request: Request): number | null {
  const length = request.headers.get("Content-Length");
  return length === null ? null : Number(length);
}

async function collect({ body }: Request, maxBytes: number): Promise<BodyReading> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  if (body) {
    for await (const bytes of readBytes(body)) {
      sizeBytes += bytes.byteLength;
      if (sizeBytes > maxBytes) return { kind: "large" };
      chunks.push(bytes);
    }
  }
  return { kind: "whole", bytes: new Uint8Array(await new Blob(chunks).arrayBuffer()) };
}

/**
 * Reads the rest of the body of a rejected request, within reason. Many clients do not read before they have sent
 * everything, and would see a broken connection instead of the error.
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

/** The bytes of a stream of the runtime as they arrive. A reader that stops early leaves the rest in the stream. */
export async function* readBytes(stream: ReadableStream): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader({ mode: "byob" });
  try {
    for (let isOver = false; !isOver;) {
      const { done, value } = await reader.readAtLeast(CHUNK_BYTES, new Uint8Array(CHUNK_BYTES));
      if (value && value.byteLength > 0) yield value;
      isOver = done;
    }
  } finally {
    reader.releaseLock();
  }
}
