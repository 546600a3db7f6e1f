import { RequestError } from "./responses.ts";

/** The whole body, or none where there is none. Throws a CallRefusal where it is larger. */
export async function readBody(request: Request, maxBytes: number): Promise<Buffer | undefined> {
  // Before a byte of it is read.
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (request.body === null) return undefined;
  const pieces: Uint8Array[] = [];
  let readBytes = 0;
  for await (const piece of request.body) {
    readBytes += piece.byteLength;
    if (readBytes > maxBytes) throw tooLarge(maxBytes);
    pieces.push(piece);
  }
  return readBytes === 0 ? undefined : Buffer.concat(pieces);
}

/** The same request, its body read: a worker that starts meanwhile does not make its caller's connection wait. */
export async function wholeRequest(request: Request, maxBytes: number): Promise<Request> {
  const body = await readBody(request, maxBytes);
  const { method, headers, signal, url } = request;
  return new Request(url, { method, headers, signal, ...(body !== undefined && { body }) });
}

function tooLarge(maxBytes: number): RequestError {
  return new RequestError(
    413,
    `The body is larger than ${maxBytes / 1_000_000} MB, which is the limit here.`,
  );
}
