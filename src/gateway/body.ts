/** Request bodies, read within a limit and validated by a schema. */
import type { z } from "zod";
import { ApiError, invalidInput } from "./api-error.ts";
import { readBytes } from "./byte-stream.ts";

/** Reads a JSON body of at most `maxBytes`; an empty one is undefined. */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  return parseJson(await readText(request, maxBytes));
}

export async function readBody<T>(request: Request, schema: z.ZodType<T>, maxBytes: number): Promise<T> {
  return judge(await readJson(request, maxBytes), schema);
}

/** What a text means; an empty one is undefined. */
export function parseJson(text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw notJson(placeOf(error));
  }
}

export function judge<T>(body: unknown, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(body ?? {});
  if (!parsed.success) throw invalidInput(parsed.error);
  return parsed.data;
}

/** Where the parser gave up. The rest of its message repeats the body, in which there may be secrets. */
function placeOf(error: unknown): string | undefined {
  const place = error instanceof Error ? /\bat position \d+/.exec(error.message)?.[0] : undefined;
  return place && `something unexpected ${place}`;
}

/** The announced length in bytes; null when the body says itself where it ends. */
export function announcedLength(request: Request): number | null {
  const length = request.headers.get("Content-Length");
  return length === null ? null : Number(length);
}

/** The body as it arrives, refused as soon as it is longer than `maxBytes`. */
export async function* readChunks(request: Request, maxBytes: number): AsyncGenerator<Uint8Array> {
  if ((announcedLength(request) ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (!request.body) return;
  let sizeBytes = 0;
  for await (const bytes of readBytes(request.body)) {
    sizeBytes += bytes.byteLength;
    if (sizeBytes > maxBytes) throw tooLarge(maxBytes);
    yield bytes;
  }
}

async function readText(request: Request, maxBytes: number): Promise<string> {
  const length = announcedLength(request);
  // The runtime lets no more through than was announced.
  if (length !== null && length <= maxBytes) return request.text();
  const decoder = new TextDecoder();
  const texts: string[] = [];
  for await (const chunk of readChunks(request, maxBytes))
    texts.push(decoder.decode(chunk, { stream: true }));
  return texts.join("") + decoder.decode();
}

/** `place`: where the text stops being JSON, if that is known. */
export function notJson(place?: string): ApiError {
  const where = place === undefined ? "" : `: ${place}`;
  return new ApiError("invalid_input", `The body is not valid JSON${where}. Send a JSON object.`);
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError(
    "payload_too_large",
    `The body is larger than ${maxBytes / 1_000_000} MB. Send less, or put the data into storage and send its address.`,
  );
}
