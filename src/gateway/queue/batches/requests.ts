/**
 * The requests of a batch, with their outputs. A page may hold gigabytes, so it is streamed: at most one reply of the
 * object and one output from R2 are in memory.
 */
import { ignoreFailure } from "../../../std/errors.ts";
import { batchPageSchema, type BatchRequestRow } from "../../../contract/batch.ts";
import type { BatchRequestsReply, BatchRequestView } from "../../../endpoint/batches/messages.ts";
import type { RateLimited, Unconfigured } from "../../../endpoint/messages.ts";
import { openPayload } from "../../../durable/stored-payload.ts";
import { logFailure } from "../../../management/failure-log.ts";
import { spliceJson } from "../../spliced-json.ts";
import { type QueueContext, readQuery } from "../context.ts";
import { callWithinLimits } from "../limits.ts";
import { batchIdOf, batchNotFound } from "./call.ts";

type Page = { readonly offset: number; readonly limit: number };
type Part = Extract<Exclude<BatchRequestsReply, Unconfigured | RateLimited>, { kind: "batch_requests" }>;

/** `GET /batch/<id>/requests?offset=&limit=`: its stored requests in their order. */
export async function batchRequests(context: QueueContext): Promise<Response> {
  const page = readQuery(context, batchPageSchema);
  const first = await readPart(context, page, true);
  const { readable, writable } = new IdentityTransformStream();
  context.executionCtx.waitUntil(writeAll(context, pageJson(context, page, first), writable));
  return context.body(readable, 200, { "Content-Type": "application/json" });
}

async function readPart(context: QueueContext, { offset, limit }: Page, isFirst: boolean): Promise<Part> {
  const batchId = batchIdOf(context);
  const reply = await callWithinLimits(context, (stub) =>
    stub.batchRequests({ batchId, offset, limit, isFirst }),
  );
  if (reply.kind === "batch_not_found") throw batchNotFound(batchId);
  return reply;
}

async function* pageJson(
  context: QueueContext,
  page: Page,
  first: Part,
): AsyncGenerator<string | Uint8Array> {
  const { offset, limit } = page;
  const { total } = first;
  let separator = '{"requests":[';
  let left = limit;
  for (let part = first; ;) {
    for (const request of part.requests) {
      yield separator;
      yield* rowJson(context.env.PAYLOADS, request);
      separator = ",";
    }
    left -= part.requests.length;
    if (left === 0 || part.requests.length === 0) break;
    part = await readPart(context, { offset: offset + limit - left, limit: left }, false);
  }
  const rest = JSON.stringify({ total, offset, limit, hasMore: offset + limit < total });
  yield `${separator === "," ? "" : separator}],${rest.slice(1)}`;
}

async function* rowJson(
  bucket: R2Bucket,
  { id, status, error, startedAt, finishedAt, output }: BatchRequestView,
): AsyncGenerator<string | Uint8Array> {
  const row: BatchRequestRow = {
    id,
    status,
    ...(error !== null && { error }),
    ...(startedAt !== null && { startedAt: new Date(startedAt).toISOString() }),
    ...(finishedAt !== null && { completedAt: new Date(finishedAt).toISOString() }),
  };
  const stored = output?.kind === "stored" ? await openPayload(bucket, output) : undefined;
  if (output?.kind === "inline") yield spliceJson(row, "output", output.json);
  else if (stored) {
    yield `${JSON.stringify(row).slice(0, -1)},"output":`;
    yield* stored;
    yield "}";
  } else yield JSON.stringify(row);
}

async function writeAll(
  context: QueueContext,
  fragments: AsyncIterable<string | Uint8Array>,
  writable: WritableStream<Uint8Array>,
): Promise<void> {
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  let isClientGone = false;
  try {
    for await (const fragment of fragments) {
      await writer.write(typeof fragment === "string" ? encoder.encode(fragment) : fragment).catch(() => {
        isClientGone = true;
      });
      if (isClientGone) return;
    }
    await writer.close();
  } catch (error) {
    logFailure("batch_requests_failed", { path: context.req.path }, error);
    await writer.abort().catch(ignoreFailure); // the client sees a body that was cut off
  }
}
