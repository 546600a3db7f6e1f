import { ignoreFailure } from "../../std/errors.ts";
import { uploadParamsSchema, type UploadReply } from "../../contract/agent/agent.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { RESULT_MAX_BYTES } from "../../contract/limits.ts";
import { resultKey } from "../../durable/stored-payload.ts";
import type { UploadRef } from "../../endpoint/messages.ts";
import { hasErrorCode } from "../../contract/errors.ts";
import { announcedLength, discardBody } from "../../durable/request-body.ts";
import { validate, readChunks } from "../body.ts";
import { callShardOfJob, resolveEndpoint } from "../../management/endpoints/endpoint-directory.ts";
import { cutsAt } from "../../json/raw-json.ts";
import { ingestPayload } from "../payload-ingest.ts";
import type { AgentContext } from "./context.ts";

const WHOLE = cutsAt([]);
const REJECTED: UploadReply = { outcome: "refused" };

/**
 * `PUT /agent/v1/endpoints/<id>/results/<jobId>/<attempt>`: stores the result of a running attempt for its
 * report. A repeated upload replaces the first.
 */
export async function uploadResult(context: AgentContext): Promise<Response> {
  const { hostId, accountId } = context.get("host");
  const { jobId, attempt } = validate(context.req.param(), uploadParamsSchema);
  const endpoint = await resolveEndpoint(context.env, accountId, context.req.param("endpointId") ?? "");
  const upload = { jobId, attempt, hostId, key: resultKey(endpoint.endpointId, jobId, attempt) };
  const reply = storeResult(context, endpoint, upload);
  context.executionCtx.waitUntil(reply.catch(ignoreFailure)); // the second check must run
  const { outcome } = await reply;
  if (outcome === "refused") await discardBody(context.req.raw);
  return context.json(await reply);
}

/** Checks again after the upload: an attempt that ended in the meantime has removed only what was stored by then. */
async function storeResult(
  context: AgentContext,
  endpoint: EndpointConfig,
  upload: UploadRef,
): Promise<UploadReply> {
  const bucket = context.env.PAYLOADS;
  if (!(await isExpected(context, endpoint, upload))) return REJECTED;
  const sizeBytes = await store(bucket, upload.key, context.req.raw);
  if (await isExpected(context, endpoint, upload)) return { outcome: "accepted", upload: { sizeBytes } };
  await bucket.delete(upload.key);
  return REJECTED;
}

async function isExpected(
  { env }: AgentContext,
  endpoint: EndpointConfig,
  upload: UploadRef,
): Promise<boolean> {
  try {
    const reply = await callShardOfJob(env, endpoint, upload.jobId, (stub) => stub.acceptsUpload(upload));
    return reply.kind === "answer" && reply.isAccepted;
  } catch (error) {
    if (hasErrorCode(error, "endpoint_not_found")) return false;
    throw error;
  }
}

async function store(bucket: R2Bucket, key: string, request: Request): Promise<number> {
  const { payload } = await ingestPayload(
    readChunks(request, RESULT_MAX_BYTES),
    WHOLE,
    { bucket, key, bodyBytes: announcedLength(request) },
    () => undefined,
  );
  if (payload.kind === "inline") await bucket.put(key, payload.json);
  return payload.sizeBytes;
}
