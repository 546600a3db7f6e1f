/** Request bodies, read within a limit and validated by a schema. */
import type { z } from "zod";
import { ApiError, invalidInput } from "./api-error.ts";

/** Reads a JSON body of at most `maxBytes`; an empty one is undefined. */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  const text = await readText(request, maxBytes);
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new ApiError("invalid_input", `The body is not valid JSON${placeOf(error)}. Send a JSON object.`);
  }
}

export async function readBody<T>(request: Request, schema: z.ZodType<T>, maxBytes: number): Promise<T> {
  const body = await readJson(request, maxBytes);
  const parsed = schema.safeParse(body ?? {});
  if (!parsed.success) throw invalidInput(parsed.error);
  return parsed.data;
}

/** Where the parser gave up. The rest of its message repeats the body, in which there may be secrets. */
function placeOf(error: unknown): string {
  const place = error instanceof Error ? /\bat position \d+/.exec(error.message)?.[0] : undefined;
  return place === undefined ? "" : ` (${place})`;
}

async function readText(request: Request, maxBytes: number): Promise<string> {
  const length = request.headers.get("Content-Length");
  if (Number(length ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (!request.body) return "";
  if (length !== null) return request.text(); // the runtime lets no more through than was announced
  const chunks: string[] = [];
  const decoder = new TextDecoder();
  let sizeBytes = 0;
  for await (const chunk of request.body) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > maxBytes) throw tooLarge(maxBytes);
    chunks.push(decoder.decode(chunk, { stream: true }));
  }
  chunks.push(decoder.decode());
  return chunks.join("");
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError(
    "payload_too_large",
    `The body is larger than ${maxBytes / 1_000_000} MB. Send less, or put the data into storage and send its address.`,
  );
}
