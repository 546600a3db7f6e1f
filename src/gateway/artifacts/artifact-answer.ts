/** Answers that hold an artifact of an app, or the part that the Range header asks for. */
import { readRange } from "./byte-range.ts";
import type { StoredArtifact } from "../../management/flash/artifact-transfers.ts";

/** The artifact, or the part that Range asks for; null when it is no longer in the bucket. */
export async function artifactResponse(
  request: Request,
  bucket: R2Bucket,
  { sha256, sizeBytes, objectKey }: StoredArtifact,
): Promise<Response | null> {
  const etag = `"${sha256}"`;
  const range = readRange(requestedRange(request, etag), sizeBytes);
  const headers = { ETag: etag, "Accept-Ranges": "bytes", "Cache-Control": "private, no-transform" };
  if (range.kind === "unsatisfiable") {
    return new Response(null, {
      status: 416,
      headers: { ...headers, "Content-Range": `bytes */${sizeBytes}` },
    });
  }
  const part = range.kind === "part" ? { range: { offset: range.from, length: range.length } } : {};
  const object = await bucket.get(objectKey, part);
  if (object === null) return null;
  return new Response(object.body, {
    status: range.kind === "part" ? 206 : 200,
    headers: {
      ...headers,
      "Content-Type": "application/gzip",
      "Content-Length": String(range.kind === "part" ? range.length : sizeBytes),
      ...(range.kind === "part" && {
        "Content-Range": `bytes ${range.from}-${range.from + range.length - 1}/${sizeBytes}`,
      }),
    },
  });
}

/** The range is ignored when the caller has a part of another artifact. */
function requestedRange({ headers }: Request, etag: string): string | undefined {
  const condition = headers.get("If-Range");
  return condition === null || condition === etag ? (headers.get("Range") ?? undefined) : undefined;
}
