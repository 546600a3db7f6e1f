/** The packed files of an app, on their way to a host. */
import { sha256Schema } from "../../contract/artifact.ts";
import { openDatabase } from "../../db/database.ts";
import { findStoredArtifact } from "../../db/flash-deployments.ts";
import { readRange } from "../../domain/byte-range.ts";
import { ApiError } from "../api-error.ts";
import type { AgentContext } from "./context.ts";

/** `GET /agent/v1/artifacts/<sha256>`: an artifact of the host's account, or the part that Range asks for. */
export async function sendArtifact(context: AgentContext): Promise<Response> {
  const sha256 = sha256Schema.safeParse(context.req.param("sha256"));
  if (!sha256.success) throw new ApiError("invalid_input", "sha256: must be 64 lower-case hex digits.");
  const { accountId } = context.get("host");
  const stored = await findStoredArtifact(openDatabase(context.env.DB), accountId, sha256.data);
  if (stored === undefined) throw absent(sha256.data);

  const { objectKey, sizeBytes } = stored;
  const etag = `"${sha256.data}"`;
  const range = readRange(rangeAsked(context, etag), sizeBytes);
  const headers = { ETag: etag, "Accept-Ranges": "bytes", "Cache-Control": "private, no-transform" };
  if (range.kind === "unsatisfiable") {
    return new Response(null, {
      status: 416,
      headers: { ...headers, "Content-Range": `bytes */${sizeBytes}` },
    });
  }
  const part = range.kind === "part" ? { range: { offset: range.from, length: range.length } } : {};
  const object = await context.env.ARTIFACTS.get(objectKey, part);
  if (object === null) throw absent(sha256.data);
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

/** A part is wanted only of what the host has the rest of. */
function rangeAsked({ req }: AgentContext, etag: string): string | undefined {
  const condition = req.header("If-Range");
  return condition === undefined || condition === etag ? req.header("Range") : undefined;
}

function absent(sha256: string): ApiError {
  return new ApiError(
    "not_found",
    `This host's account has no artifact ${sha256}. Its build may have been deleted; deploy the app again.`,
  );
}
