/** The log of an endpoint, as the service sends it line by line. */
import { EventSourceParserStream } from "eventsource-parser/stream";
import * as z from "zod";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../src/std/failure.ts";
import type { Service } from "../service/service.ts";

const lineSchema = z.looseObject({
  /** `system` for lines of the agent, else what the worker printed. */
  source: z.string(),
  line: z.string(),
  /** When it was printed, in ms. */
  at: z.number().optional(),
  jobId: z.string().optional(),
  workerId: z.string().optional(),
});
export type LogLine = z.infer<typeof lineSchema>;

export type LogReader = {
  /** Only lines printed from then on, in ms. */
  readonly since: () => number;
  /** How many of the lines that were printed before the call are sent: the last ones. */
  readonly limit: number;
  /** Further parameters of the query, each after an &. */
  readonly filter?: string;
  readonly onOpen?: () => void;
  readonly onLine: (line: LogLine) => void;
  readonly signal: AbortSignal;
};

/** Between attempts to follow a log. */
const PAUSE_MS = 1_000;

/** Reads the log until the endpoint no longer exists, or the signal; whatever ends its work is ignored. */
export async function followEndpointLog(
  service: Service,
  endpointId: string,
  reader: LogReader,
): Promise<void> {
  const { signal } = reader;
  try {
    while (!signal.aborted && (await readEndpointLog(service, endpointId, reader))) {
      await delay(PAUSE_MS, undefined, { signal });
    }
  } catch {
    // Calls and endpoints work without lines of the log.
  }
}

/** Resolves when the connection ends; with false when the endpoint no longer exists. Throws at the signal only. */
async function readEndpointLog(
  service: Service,
  endpointId: string,
  { since, limit, filter = "", onOpen, onLine, signal }: LogReader,
): Promise<boolean> {
  const response = await service
    .request(`/v2/${endpointId}/logs?limit=${limit}&since=${since()}${filter}`, {
      headers: { Accept: "text/event-stream" },
      signal,
    })
    .catch((error: unknown) => {
      if (error instanceof Failure) return undefined;
      throw error;
    });
  if (response === undefined) return true;
  if (!response.ok || response.body === null) return response.status !== 404;
  onOpen?.();
  const events = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  try {
    for await (const { data } of events) {
      const read = lineSchema.safeParse(JSON.parse(data));
      if (read.success) onLine(read.data);
    }
  } catch {
    signal.throwIfAborted(); // The connection broke off; the caller opens another one.
  }
  return true;
}
