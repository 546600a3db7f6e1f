/** What crosses the border of either object, and how the script turns HTTP into it and back. */
const INLINE_BODY_BYTES = 64 * 1024;

export type Body = Uint8Array | ReadableStream<Uint8Array> | null;
export type Answer = { readonly head: Uint8Array; readonly body: Body };

type Head = { readonly status: number; readonly headers: readonly [string, string][] };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeHead(request: Request, target: string): Uint8Array {
  return encoder.encode(JSON.stringify({ method: request.method, target, headers: [...request.headers] }));
}

/** Bytes when the body is small and says so; else as it comes. */
export async function bodyOf({ body, headers }: Pick<Request, "body" | "headers">): Promise<Body> {
  if (body === null) return null;
  const length = headers.get("content-length");
  if (length === null || Number(length) > INLINE_BODY_BYTES) return body;
  return new Uint8Array(await new Response(body).arrayBuffer());
}

export function toResponse({ head, body }: Answer): Response {
  const { status, headers } = JSON.parse(decoder.decode(head)) as Head;
  return new Response(body, { status, headers: headers.filter(([name]) => !HOP_BY_HOP.has(name)) });
}

const HOP_BY_HOP = new Set(["connection", "keep-alive", "transfer-encoding"]);
