import type { IncomingMessage } from "node:http";

/** A request body. Above the limit only its start is kept, but its size is still known. */
export type ReceivedBody = { readonly bytes: Buffer; readonly sizeBytes: number };

/** What is kept of a body above the limit: enough to tell a progress value from a result. */
const START_BYTES = 1_024;

/** The announced size of a body in bytes; null when the body says itself where it ends. */
export function announcedBytes(request: IncomingMessage): number | null {
  const length = request.headers["content-length"];
  return length === undefined ? null : Number(length);
}

/** Reads a body to its end; undefined when the sender vanished before. */
export async function readBody(
  request: IncomingMessage,
  limitBytes: number,
): Promise<ReceivedBody | undefined> {
  const keepBytes = (announcedBytes(request) ?? 0) > limitBytes ? START_BYTES : limitBytes;
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      if (sizeBytes < keepBytes) chunks.push(chunk);
      sizeBytes += chunk.length;
      if (sizeBytes > limitBytes) chunks.splice(1);
    }
  } catch {
    return undefined;
  }
  return { bytes: Buffer.concat(chunks), sizeBytes };
}
