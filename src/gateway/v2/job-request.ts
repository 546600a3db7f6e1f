/** Bodies of run and runsync: small ones are parsed, the input of a large one goes to R2 as it arrives. */
import { jobRequestSchema, type JobRequest } from "../../contract/job.ts";
import { INLINE_PAYLOAD_MAX_BYTES } from "../../contract/limits.ts";
import type { Payload } from "../../domain/job-machine.ts";
import { announcedLength, judge, readBody, readChunks } from "../body.ts";
import { takeIn } from "../payload-intake.ts";
import { freshPayloadKey, storePayload } from "../payloads.ts";

export type ReceivedRequest = {
  readonly options: Omit<JobRequest, "input">;
  /** In R2 when it is large; then the caller removes it if the job is refused. */
  readonly input: Payload;
};

export type PayloadPlace = { readonly bucket: R2Bucket; readonly endpointId: string };

/** Whether the body is known to be small: it says how long it is, or there is none. */
export function isSmall(request: Request): boolean {
  const length = announcedLength(request);
  return length === null ? !request.body : length <= INLINE_PAYLOAD_MAX_BYTES;
}

export async function readSmallRequest(request: Request, place: PayloadPlace): Promise<ReceivedRequest> {
  const { input, ...options } = await readBody(request, jobRequestSchema, INLINE_PAYLOAD_MAX_BYTES);
  return { options, input: await storePayload(place.bucket, place.endpointId, input) };
}

/** Reads a body of any length. Refused, it leaves nothing in R2. */
export async function readLargeRequest(
  request: Request,
  maxBytes: number,
  { bucket, endpointId }: PayloadPlace,
): Promise<ReceivedRequest> {
  const { value, payload } = await takeIn(
    readChunks(request, maxBytes),
    { bucket, key: freshPayloadKey(endpointId), path: ["input"], bodyBytes: announcedLength(request) },
    (rest) => judge(rest, jobRequestSchema),
  );
  const { input: _, ...options } = value;
  return { options, input: payload };
}
