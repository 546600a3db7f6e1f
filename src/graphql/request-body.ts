import { readBytes } from "../durable/byte-stream.ts";

export type BodyReading =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "large" }
  | { readonly kind: "broken" };

/** The text of the body, of at most `maxBytes`; of a larger one, what is left of it stays in the request. */
export async function readLimited({ body, headers }: Request, maxBytes: number): Promise<BodyReading> {
  if (Number(headers.get("Content-Length")) > maxBytes) return { kind: "large" };
  if (!body) return { kind: "text", text: "" };
  const decoder = new TextDecoder();
  let text = "";
  let sizeBytes = 0;
  try {
    for await (const bytes of readBytes(body)) {
      sizeBytes += bytes.byteLength;
      if (sizeBytes > maxBytes) return { kind: "large" };
      text += decoder.decode(bytes, { stream: true });
    }
  } catch {
    return { kind: "broken" };
  }
  return { kind: "text", text: text + decoder.decode() };
}
