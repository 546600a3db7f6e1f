/** Request bodies, read within a limit and validated by a schema. */
import type { z } from "zod";
import type { PathTree } from "../json/json-carver.ts";
import { cutJson } from "../json/raw-json.ts";
import { JsonCountError, JsonDepthError, JsonRepeatError, JsonSyntaxError } from "../json/json-tokens.ts";
import { ServiceError } from "../contract/errors.ts";
import { invalidInput } from "../contract/validation-issues.ts";
import { readBytes, announcedLength, BROKEN_BODY, readWithin } from "../durable/request-body.ts";

/** Reads a JSON body of at most `maxBytes`; an empty one is undefined. */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  return parseJson(await readText(request, maxBytes));
}

export async function readBody<T>(request: Request, schema: z.ZodType<T>, maxBytes: number): Promise<T> {
  return validate(await readJson(request, maxBytes), schema);
}

/**
 * Reads a JSON body of at most `maxBytes`; the values at `paths`, at most `cutsMax`, stay raw JSON. An empty body is
 * undefined.
 */
export async function readCutJson(
  request: Request,
  paths: PathTree,
  maxBytes: number,
  cutsMax?: number,
): Promise<unknown> {
  const bytes = await readWhole(request, maxBytes);
  try {
    return bytes.every(isSpace)
      ? undefined
      : cutJson(bytes, paths, cutsMax === undefined ? {} : { carvedMax: cutsMax });
  } catch (error) {
    throw error instanceof JsonSyntaxError ? toServiceError(error) : error;
  }
}

/** Parses JSON; an empty string is undefined. */
export function parseJson(text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw notJson(placeOf(error));
  }
}

/** Throws for a body that is no JSON object. */
export function requireObject(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body === "object" && body !== null && !Array.isArray(body))
    return body as Readonly<Record<string, unknown>>;
  throw new ServiceError("invalid_input", "body: must be a JSON object");
}

export function validate<T>(body: unknown, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(body ?? {});
  if (!parsed.success) throw invalidInput(parsed.error);
  return parsed.data;
}

/** The position of the syntax error. The rest of the message quotes the body, which may contain secrets. */
function placeOf(error: unknown): string | undefined {
  const place = error instanceof Error ? /\bat position \d+/.exec(error.message)?.[0] : undefined;
  return place && `something unexpected ${place}`;
}

/** The body as it arrives; throws as soon as it exceeds `maxBytes`. */
export async function* readChunks(request: Request, maxBytes: number): AsyncGenerator<Uint8Array> {
  if ((announcedLength(request) ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (!request.body) return;
  let sizeBytes = 0;
  for await (const bytes of unbroken(readBytes(request.body))) {
    const isFirst = sizeBytes === 0;
    sizeBytes += bytes.byteLength;
    if (sizeBytes > maxBytes) throw tooLarge(maxBytes);
    yield isFirst ? withoutBom(bytes) : bytes;
  }
}

/** A body that breaks off, or whose chunks are malformed, is an error of the client. */
export async function* unbroken(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch {
    throw incompleteBody();
  }
}

/** Some programs begin their JSON with a byte order mark. */
function withoutBom(bytes: Uint8Array): Uint8Array {
  const [first, second, third] = bytes;
  return first === 0xef && second === 0xbb && third === 0xbf ? bytes.subarray(3) : bytes;
}

/** The body, of at most `maxBytes`. */
export async function readWhole(request: Request, maxBytes: number): Promise<Uint8Array> {
  const body = await readWithin(request, maxBytes);
  if (body.kind === "large") throw tooLarge(maxBytes);
  if (body.kind === "broken") throw incompleteBody();
  return withoutBom(body.bytes);
}

async function readText(request: Request, maxBytes: number): Promise<string> {
  return new TextDecoder().decode(await readWhole(request, maxBytes));
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Describes a syntax error and its position. */
export function toServiceError(error: JsonSyntaxError): ServiceError {
  if (error instanceof JsonCountError)
    return new ServiceError(
      "invalid_input",
      `The body holds more than ${error.countMax} values. Send fewer.`,
    );
  if (error instanceof JsonDepthError)
    return new ServiceError("invalid_input", `The body has ${error.message}. Nest its values less deeply.`);
  if (error instanceof JsonRepeatError)
    return new ServiceError("invalid_input", `${error.member} is sent twice. Send it once.`);
  return notJson(error.message);
}

/** `place`: the position of the syntax error, if it is known. */
export function notJson(place?: string): ServiceError {
  const where = place === undefined ? "" : `: ${place}`;
  return new ServiceError("invalid_input", `The body is not valid JSON${where}. Send a JSON object.`);
}

function incompleteBody(): ServiceError {
  return new ServiceError("invalid_input", BROKEN_BODY);
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError(
    "payload_too_large",
    `The body is larger than ${Math.round(maxBytes / 100_000) / 10} MB. Send less, or put the data into storage and send its URL.`,
  );
}
