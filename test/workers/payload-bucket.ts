/** What lies in the bucket of payloads, for one endpoint. */
import { env } from "cloudflare:workers";
import { notYet, until } from "./support/until.ts";

export async function payloadKeys(endpointId: string): Promise<string[]> {
  const { objects } = await env.PAYLOADS.list({ prefix: `jobs/${endpointId}/` });
  return objects.map(({ key }) => key);
}

/** Resolves once there is nothing any more: removal follows the answer. */
export async function bucketIsEmpty(endpointId: string): Promise<void> {
  const look = async () => {
    const keys = await payloadKeys(endpointId);
    return keys.length === 0 || notYet(keys);
  };
  await until(look, "the bucket holds nothing of the endpoint");
}

/** A body that says nothing about its length, and comes in pieces. */
export function inPieces(text: string, end: "closed" | "broken" = "closed"): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let from = 0;
  return new ReadableStream({
    pull(controller) {
      const piece = bytes.subarray(from, from + 50_000);
      from += piece.length;
      if (piece.length > 0) controller.enqueue(piece);
      else if (end === "closed") controller.close();
      else controller.error(new Error("The client hung up."));
    },
  });
}
