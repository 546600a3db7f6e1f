/** Bodies of requests, read whole within a limit. */
import { readBytes } from "./byte-stream.ts";

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
