/** Adds requests to a batch: validated like those of run, large inputs put into R2, the rest packed. */
import { BATCH_REQUESTS_MAX, batchBodySchema } from "../../../contract/batch.ts";
import { JOB_REQUEST_CUTS, type JobRequest, receivedJobRequestSchema } from "../../../contract/job.ts";
import { TTL_DEFAULT_MS } from "../../../contract/limits.ts";
import { invalidInput } from "../../../contract/validation-issues.ts";
import { type BatchPack, type BatchRequest, packRequests } from "../../../domain/jobs/batch.ts";
import type { BatchCall } from "../../../endpoint/batches/messages.ts";
import { EACH, type JsonPath } from "../../../json/json-carver.ts";
import { cutsAt } from "../../../json/raw-json.ts";
import { readCutJson } from "../../body.ts";
import { dropPayload, isRejection, storePayload } from "../../payloads.ts";
import type { QueueContext } from "../context.ts";
import { readIdempotencyKey, readWebhook, workerOptions } from "../jobs/submission.ts";
import { batchIdOf, callBatch } from "./call.ts";

/** All requests of one call. */
const BATCH_BODY_MAX_BYTES = 10 * 1024 * 1024;

/** `POST /batch`: creates a draft with these requests and starts no request yet. */
export async function createBatch(context: QueueContext): Promise<Response> {
  const idempotencyKey = readIdempotencyKey(context);
  const { id, status } = await add(context, (packs) => ({ kind: "create", packs, idempotencyKey }));
  return context.json({ id, status });
}

/** `POST /batch/<id>/requests`: adds requests to a draft. */
export async function appendToBatch(context: QueueContext): Promise<Response> {
  const batchId = batchIdOf(context);
  return context.json(await add(context, (packs) => ({ kind: "append", batchId, packs })));
}

async function add(context: QueueContext, toCall: (packs: readonly BatchPack[]) => BatchCall) {
  const requests = await readRequests(context);
  const webhooks = requests.map((request, index) => readWebhook(context.env, request, `[${index}].`));
  const { endpointId } = context.get("endpoint");
  const stored = await Promise.all(
    requests.map((request, index) =>
      toBatchRequest(context.env.PAYLOADS, endpointId, request, webhooks[index] ?? null),
    ),
  );
  const dropInputs = () =>
    context.executionCtx.waitUntil(
      Promise.all(stored.map(({ input }) => dropPayload(context.env.PAYLOADS, input))),
    );
  try {
    const { batch, isNew } = await callBatch(context, toCall(packRequests(stored)));
    if (!isNew) dropInputs();
    return batch;
  } catch (error) {
    if (isRejection(error)) dropInputs();
    throw error;
  }
}

/** Two values per request; twice as many are parsed, so that the error can state the limit of requests. */
const CUTS_MAX = 4 * BATCH_REQUESTS_MAX;
const CUT_PATHS = cutsAt(
  ...JOB_REQUEST_CUTS.flatMap((path): JsonPath[] => [
    [EACH, ...path],
    ["requests", EACH, ...path],
  ]),
);

async function readRequests(context: QueueContext): Promise<readonly JobRequest[]> {
  const body = await readCutJson(context.req.raw, CUT_PATHS, BATCH_BODY_MAX_BYTES, CUTS_MAX);
  const parsed = batchBodySchema(receivedJobRequestSchema, Array.isArray(body)).safeParse(body ?? {});
  if (!parsed.success) throw invalidInput(parsed.error);
  return parsed.data.requests;
}

async function toBatchRequest(
  bucket: R2Bucket,
  endpointId: string,
  request: JobRequest,
  webhook: string | null,
): Promise<BatchRequest> {
  const { policy } = request;
  return {
    input: await storePayload(bucket, endpointId, request.input),
    optionsJson: workerOptions(request, webhook),
    hasWebhook: webhook !== null,
    isLowPriority: policy?.lowPriority ?? false,
    ttlMs: policy?.ttl ?? TTL_DEFAULT_MS,
    executionTimeoutMs: policy?.executionTimeout ?? null,
  };
}
