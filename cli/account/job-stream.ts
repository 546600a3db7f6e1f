/** What a handler yields, as the service sends it chunk by chunk. */
import { setTimeout as delay } from "node:timers/promises";
import { EventSourceParserStream } from "eventsource-parser/stream";
import * as z from "zod";
import { Failure } from "../../src/std/failure.ts";
import { jobSchema } from "../calls/job-calls.ts";
import { ServiceFailure, type Service } from "../service/service.ts";

/** After a lost connection. */
const PAUSE_MS = 1_000;

type StreamReader = {
  /** The JSON of a chunk, each once. */
  readonly onChunk: (json: string) => void;
  readonly signal: AbortSignal;
};

/** Returns the job once it has ended. A connection that is lost is made again, and goes on after the last chunk. */
export async function readJobStream(
  service: Service,
  path: string,
  { onChunk, signal }: StreamReader,
): Promise<z.infer<typeof jobSchema>> {
  let lastId = "";
  while (true) {
    for await (const { event, id, data } of eventsOf(service, path, { lastId, signal })) {
      if (event === "status") return jobSchema.parse(JSON.parse(data));
      if (event === "error") throw new Failure(errorSchema.parse(JSON.parse(data)).error);
      lastId = id ?? lastId;
      onChunk(chunkOf(data));
    }
    await delay(PAUSE_MS, undefined, { signal });
  }
}

/** The value as it was yielded, out of {"output": …}: reading numbers and writing them again would change long ones. */
function chunkOf(data: string): string {
  const [, value = data] = /^\{"output":(.*)\}$/s.exec(data) ?? [];
  return value;
}

const errorSchema = z.object({ error: z.string(), code: z.string().optional() });

/** Of one connection; ends when that is lost, or cannot be made for now. */
async function* eventsOf(
  service: Service,
  path: string,
  { lastId, signal }: { readonly lastId: string; readonly signal: AbortSignal },
) {
  const headers = { Accept: "text/event-stream", ...(lastId !== "" && { "Last-Event-ID": lastId }) };
  const response = await service.request(path, { headers, signal }).catch((error: unknown) => {
    if (error instanceof Failure && !signal.aborted) return undefined;
    throw error;
  });
  if (response === undefined || response.status === 429 || response.status >= 500) return;
  if (!response.ok || response.body === null) {
    const { code = "UNKNOWN", error } = errorSchema.parse(await response.json());
    throw new ServiceFailure(code, error);
  }
  const events = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  try {
    yield* events;
  } catch {
    signal.throwIfAborted(); // The connection broke off.
  }
}
