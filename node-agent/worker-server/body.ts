import type { IncomingMessage } from "node:http";

/** A request body. Above the limit only its start is kept, but its size is still known. */
export type ReceivedBody = { readonly bytes: Buffer; readonly sizeBytes: number };

/** Reads a body to its end; undefined when the sender vanished before. */
export async function readBody(
  request: IncomingMessage,
  limitBytes: number,
): Promise<ReceivedBody | undefined> {
  const kept: Buffer[] = [];
  let sizeBytes = 0;
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      if (sizeBytes < limitBytes) kept.push(part);
      sizeBytes += part.length;
    }
  } catch {
    return undefined;
  }
  return { bytes: Buffer.concat(kept), sizeBytes };
}
