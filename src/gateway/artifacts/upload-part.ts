import {
  beginFlashUploadParts,
  saveFlashUploadPart,
  type FlashUploadRecord,
} from "../../db/flash/uploads.ts";
import { bytesOfPart, countOfParts } from "../../management/flash/artifact-parts.ts";
import { ServiceError } from "../../contract/errors.ts";
import { storeChecked } from "./artifact-stream.ts";
import { requireUpload, uploadGone, type ArtifactsContext, type OpenUpload } from "./context.ts";

/** `PUT /artifacts/uploads/<token>/parts/<n>`: one part, in any order; sent again it takes the place of the first. */
export async function receivePart(context: ArtifactsContext): Promise<Response> {
  const open = await requireUpload(context);
  const number = Number(context.req.param("number"));
  const sizeBytes = bytesOfPart(open.upload.sizeBytes, number);
  if (sizeBytes === undefined) throw partNotFound(open.upload, context.req.param("number") ?? "");

  const upload = await begun(open);
  const multipart = open.bucket.resumeMultipartUpload(upload.objectKey, upload.multipartId ?? "");
  const expected = { sizeBytes, sha256: null, isBeginning: number === 1, what: `Part ${number}` };
  const { stored } = await storeChecked(context.req.raw, expected, async (readable) =>
    multipart.uploadPart(number, readable),
  );
  if (!(await saveFlashUploadPart(open.db, upload, { number, etag: stored.etag }))) throw uploadGone();
  return context.body(null, 204);
}

/** The upload with R2's name for it; of several that begin it at once the first decides. */
async function begun({ upload, db, bucket }: OpenUpload): Promise<FlashUploadRecord> {
  if (upload.multipartId !== null) return upload;
  const multipart = await bucket.createMultipartUpload(upload.objectKey);
  const begun = await beginFlashUploadParts(db, upload.id, multipart.uploadId);
  if (begun?.multipartId !== multipart.uploadId) await multipart.abort();
  if (begun === undefined) throw uploadGone();
  return begun;
}

function partNotFound({ sizeBytes }: FlashUploadRecord, number: string): ServiceError {
  return new ServiceError(
    "invalid_input",
    `There is no part ${number.slice(0, 20)}: the artifact has the parts 1 to ${countOfParts(sizeBytes)}.`,
  );
}
