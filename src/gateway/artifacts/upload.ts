import { findFlashBuildOf } from "../../db/flash-builds.ts";
import { noteFoundHash } from "../../db/flash-uploads.ts";
import { ApiError } from "../api-error.ts";
import { requireUpload, uploadGone, type ArtifactsContext } from "./context.ts";
import { passThrough } from "./artifact-stream.ts";

/** `PUT /artifacts/uploads/<token>`: the whole artifact in one request. The first one that has come stays. */
export async function takeArtifact(context: ArtifactsContext): Promise<Response> {
  const { upload, bucket, db } = await requireUpload(context);
  const { accountId, appId, objectKey, sizeBytes, sha256: known } = upload;
  const expected = { sizeBytes, sha256: known, isBeginning: true, what: "The artifact" };
  const isThere = (await bucket.head(objectKey)) !== null;
  if (isThere && known === null) throw notFirst(); // nobody could say whether these are the same bytes
  const options = { onlyIf: { etagDoesNotMatch: "*" }, ...(known !== null && { sha256: known }) };
  const { sha256, stored } = await passThrough(context.req.raw, expected, async (readable) => {
    if (!isThere) return await bucket.put(objectKey, readable, options);
    await readable.pipeTo(new WritableStream());
    return null;
  });
  if (isThere || (stored === null && known !== null)) return context.body(null, 204);
  if (stored === null) throw notFirst();
  if (await noteFoundHash(db, upload.id, sha256)) return context.body(null, 204);
  // The upload ended while it came: in a build of these bytes, or in nothing.
  if (await findFlashBuildOf(db, accountId, appId, { objectKey })) return context.body(null, 204);
  await bucket.delete(objectKey);
  throw uploadGone();
}

function notFirst(): ApiError {
  return new ApiError(
    "invalid_input",
    "Another request has brought the artifact meanwhile. Prepare a new upload.",
  );
}
