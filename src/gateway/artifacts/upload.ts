import { findFlashBuildOf } from "../../db/flash/builds.ts";
import { saveFoundHash } from "../../db/flash/uploads.ts";
import { ServiceError } from "../../contract/errors.ts";
import { requireUpload, uploadGone, type ArtifactsContext } from "./context.ts";
import { storeChecked } from "./artifact-stream.ts";

/** `PUT /artifacts/uploads/<token>`: the whole artifact in one request. The first one that has come stays. */
export async function receiveArtifact(context: ArtifactsContext): Promise<Response> {
  const { upload, bucket, db } = await requireUpload(context);
  const { accountId, appId, objectKey, sizeBytes, sha256: announced } = upload;
  const expected = { sizeBytes, sha256: announced, isBeginning: true, what: "The artifact" };
  const isThere = (await bucket.head(objectKey)) !== null;
  if (isThere && announced === null) throw notFirst(); // nobody could say whether these are the same bytes
  const options = { onlyIf: { etagDoesNotMatch: "*" }, ...(announced !== null && { sha256: announced }) };
  const { sha256, stored } = await storeChecked(context.req.raw, expected, async (readable) => {
    if (!isThere) return await bucket.put(objectKey, readable, options);
    await readable.pipeTo(new WritableStream());
    return null;
  });
  if (isThere || (stored === null && announced !== null)) return context.body(null, 204);
  if (stored === null) throw notFirst();
  if (await saveFoundHash(db, upload.id, sha256)) return context.body(null, 204);
  // The upload ended while it came: in a build of these bytes, or in nothing.
  if (await findFlashBuildOf(db, accountId, appId, { objectKey })) return context.body(null, 204);
  await bucket.delete(objectKey);
  throw uploadGone();
}

function notFirst(): ServiceError {
  return new ServiceError(
    "invalid_input",
    "Another request has brought the artifact meanwhile. Prepare a new upload.",
  );
}
