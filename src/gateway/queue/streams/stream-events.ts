/**
 * A stream as server-sent events. The Worker script writes them and waits outside the object, so that the
 * object may hibernate between chunks. Every read passes its position, so no state needs to survive.
 */
import { ignoreFailure } from "../../../std/errors.ts";
import { errorBody } from "../../../contract/errors.ts";
import { bytesOnOneLine, onOneLine } from "../../../domain/openai/openai-frames.ts";
import { logFailure } from "../../../management/failure-log.ts";
import { readBytes } from "../../../durable/request-body.ts";
import { jobNotFound, type QueueContext } from "../context.ts";
import { jobBody } from "../jobs/job-answer.ts";
import type { JsonPart, StoredPart } from "../../spliced-json.ts";
import { StreamReader, type StreamChunk, type StreamRead } from "./stream-reader.ts";
import { IN_OBJECT_WAIT_MS } from "../../../durable/waiters.ts";

/** Silence of an event stream after which a comment shows that it is alive. */
export const STREAM_HEARTBEAT_MS = 15_000;

export const EVENT_HEADERS = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-cache",
};
export const HEARTBEAT = ":\n\n";

/** Only an Accept header that names event streams selects them; polling clients send any other. */
export function wantsEvents(context: QueueContext): boolean {
  const types = (context.req.header("Accept") ?? "").split(",");
  return types.some((type) => type.split(";")[0]?.trim().toLowerCase() === "text/event-stream");
}

/**
 * All chunks, or those after `Last-Event-ID`, as they come: an event each, whose id is its position. The last event is
 * `status`, with the final status body. Polls still drain the same chunks.
 */
export async function streamEvents(context: QueueContext, jobId: string): Promise<Response> {
  const reader = new StreamReader(context, jobId, { position: readLastEventId(context), slot: null });
  const first = await reader.read(0);
  if (first.kind === "not_found") throw jobNotFound(jobId);
  const { readable, writable } = new IdentityTransformStream();
  context.executionCtx.waitUntil(writeEvents(context, reader, first, new EventWriter(writable)));
  return new Response(readable, { headers: EVENT_HEADERS });
}

async function writeEvents(
  context: QueueContext,
  reader: StreamReader,
  first: StreamRead,
  events: EventWriter,
): Promise<void> {
  try {
    const end = await writeChunks(reader, first, events);
    if (end?.kind === "not_found") await events.end("error", [JSON.stringify(notFoundBody(reader.jobId))]);
    else if (end) await events.end("status", await jobBody(context, end.view));
    else await events.abort();
  } catch (error) {
    logFailure("stream_failed", { path: context.req.path }, error);
    await events.abort(); // the client resumes after the last id that it received
  }
}

/** Writes events until nothing more will come; undefined when the client has gone. */
async function writeChunks(
  reader: StreamReader,
  first: StreamRead,
  events: EventWriter,
): Promise<StreamRead | undefined> {
  let text = HEARTBEAT; // headers leave with the first byte
  let beatAt = 0;
  for (let read = first; ; read = await reader.read(IN_OBJECT_WAIT_MS)) {
    const chunks = read.kind === "found" ? encodeChunks(reader.take(read.runs)) : "";
    text += chunks;
    if (text !== "" && !(await events.write(text))) return undefined;
    if (text !== "") beatAt = Date.now() + STREAM_HEARTBEAT_MS;
    text = "";
    if (chunks !== "") continue;
    if (read.kind === "not_found" || read.isFinal) return read;
    await reader.awaitMore(beatAt);
    if (reader.isClientGone) return undefined;
    if (Date.now() >= beatAt) text = HEARTBEAT;
  }
}

function encodeChunks(chunks: readonly StreamChunk[]): string {
  return chunks.map(({ position, wire }) => `id: ${position}\ndata: ${onOneLine(wire)}\n\n`).join("");
}

export class EventWriter {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #encoder = new TextEncoder();

  constructor(writable: WritableStream<Uint8Array>) {
    this.#writer = writable.getWriter();
  }

  /** False when the client has gone. */
  async write(text: string): Promise<boolean> {
    try {
      await this.#writer.write(this.#encoder.encode(text));
      return true;
    } catch {
      return false;
    }
  }

  /** Writes the last event. Its data may be large and is streamed. */
  async end(event: string, data: readonly JsonPart[]): Promise<void> {
    let isListening = await this.write(`event: ${event}\ndata: `);
    for (const part of data) {
      if (!isListening) return;
      isListening = typeof part === "string" ? await this.write(onOneLine(part)) : await this.#pass(part);
    }
    if (isListening && (await this.write("\n\n"))) await this.close();
  }

  async close(): Promise<void> {
    await this.#writer.close().catch(ignoreFailure);
  }

  async #pass(part: StoredPart): Promise<boolean> {
    try {
      const stream = await part.open();
      for await (const bytes of readBytes(stream)) await this.#writer.write(bytesOnOneLine(bytes));
      return true;
    } catch {
      return false;
    }
  }

  async abort(): Promise<void> {
    await this.#writer.abort().catch(ignoreFailure);
  }
}

/** A client without a valid id gets the stream from its start. */
function readLastEventId(context: QueueContext): number {
  const id = Number(context.req.header("Last-Event-ID") ?? 0);
  return Number.isSafeInteger(id) && id > 0 ? id : 0;
}

function notFoundBody(jobId: string) {
  return errorBody("job_not_found", jobNotFound(jobId).message);
}
