/** Answers that hold an artifact of an app, or the one part that the Range header asks for. */
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

export type RequestedRange =
  | { readonly kind: "whole" }
  | { readonly kind: "part"; readonly from: number; readonly length: number }
  | { readonly kind: "unsatisfiable" };

const ONE_RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;
const WHOLE: RequestedRange = { kind: "whole" };

/** The requested part of `sizeBytes`; several parts, other units and an invalid header mean the whole. */
export function readRange(header: string | undefined, sizeBytes: number): RequestedRange {
  const [, first = "", last = ""] = ONE_RANGE.exec(header?.trim() ?? "") ?? [];
  if (first === "" && last === "") return WHOLE;
  if (first === "") return partOf(Math.max(0, sizeBytes - Number(last)), sizeBytes - 1, sizeBytes);
  if (last !== "" && Number(last) < Number(first)) return WHOLE;
  return partOf(
    Number(first),
    last === "" ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1),
    sizeBytes,
  );
}

function partOf(from: number, to: number, sizeBytes: number): RequestedRange {
  return from < sizeBytes && from <= to
    ? { kind: "part", from, length: to - from + 1 }
    : { kind: "unsatisfiable" };
}
