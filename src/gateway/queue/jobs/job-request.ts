/** Bodies of run and runsync: the input becomes a payload, byte for byte; a large one goes to R2 as it arrives. */
import { JOB_REQUEST_CUTS, receivedJobRequestSchema, type JobRequest } from "../../../contract/job.ts";
import { cutsAt } from "../../../json/raw-json.ts";
import { INLINE_PAYLOAD_MAX_BYTES } from "../../../contract/limits.ts";
import type { Payload } from "../../../domain/jobs/job-machine.ts";
import { announcedLength } from "../../../durable/request-body.ts";
import { validate, readChunks, readCutJson, readWhole } from "../../body.ts";
import { ingestPayload, type PayloadTarget } from "../../payload-ingest.ts";
import { freshPayloadKey } from "../../payloads.ts";

/** The members beside `input`. */
export type JobOptions = Omit<JobRequest, "input">;

export type RunBody = {
  readonly options: JobOptions;
  /** In R2 when it is large; then the caller removes it if the job is rejected. */
  readonly input: Payload;
};

export type PayloadPlace = { readonly bucket: R2Bucket; readonly endpointId: string };

const CUT_PATHS = cutsAt(...JOB_REQUEST_CUTS);

/** Whether the body is known to be small, by its Content-Length or since it is empty. */
export function isSmall(request: Request): boolean {
  const length = announcedLength(request);
  return length === null ? !request.body : length <= INLINE_PAYLOAD_MAX_BYTES;
}

/** Reads a body of any length. A rejected one leaves nothing in R2. */
export async function readRequest(request: Request, maxBytes: number, place: PayloadPlace): Promise<RunBody> {
  if (isSmall(request)) return await readSmall(request, maxBytes);
  const { value, payload } = await ingestPayload(
    readChunks(request, maxBytes),
    CUT_PATHS,
    payloadTarget(request, place),
    (rest) => validate(rest, receivedJobRequestSchema),
  );
  const { input: _, ...options } = value;
  return { options, input: payload };
}

async function readSmall(request: Request, maxBytes: number): Promise<RunBody> {
  const body = await readCutJson(request, CUT_PATHS, maxBytes);
  const { input, ...options } = validate(body, receivedJobRequestSchema);
  return { options, input: { kind: "inline", json: input.json } };
}

/** The body as it arrives; a small one in one piece, which costs less. */
export async function* bodyChunks(request: Request, maxBytes: number): AsyncGenerator<Uint8Array> {
  if (isSmall(request)) yield await readWhole(request, maxBytes);
  else yield* readChunks(request, maxBytes);
}

export function payloadTarget(request: Request, { bucket, endpointId }: PayloadPlace): PayloadTarget {
  return { bucket, key: freshPayloadKey(endpointId), bodyBytes: announcedLength(request) };
}
