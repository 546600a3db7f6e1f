import { JsonCarver } from "../../src/contract/json-carver.ts";
import { JsonSyntaxError } from "../../src/contract/json-tokens.ts";
import type { JsonValue } from "../../src/contract/json.ts";
import { CHUNK_MAX_BYTES, RESULT_MAX_BYTES } from "../../src/contract/limits.ts";
import type { ReceivedBody } from "./body.ts";

/** What a body posted to job-done means. The output is JSON text as the worker wrote it, and may be megabytes. */
export type PostedResult =
  | { readonly kind: "progress"; readonly value: JsonValue }
  | { readonly kind: "completed"; readonly output: string | undefined; readonly wantsRefresh: boolean }
  | {
      readonly kind: "failed";
      readonly error: string;
      readonly output: string | undefined;
      readonly wantsRefresh: boolean;
    };

/** A body of this size is read whole: the largest result, and the error that may stand beside it. */
export const POST_MAX_BYTES = RESULT_MAX_BYTES + 1_000_000;

const NO_JSON_FORM = "Values such as NaN and Infinity have no JSON form; use null or text instead.";

/** Reads a body posted to job-done. Never refuses: a result that cannot be used is a failure that says why. */
export function readResult(body: ReceivedBody): PostedResult {
  if (body.sizeBytes > POST_MAX_BYTES) return tooLarge(body);
  const posted = splitPost(body.bytes);
  if (posted.kind === "unreadable") {
    return failed(`The handler's result is not valid JSON: ${posted.why}. ${NO_JSON_FORM}`);
  }
  const { members, output } = posted;
  if (members["status"] === "IN_PROGRESS") return { kind: "progress", value: valueOf(output) };
  if (output && output.length > RESULT_MAX_BYTES) return tooLarge({ ...body, sizeBytes: output.length });
  const result = { output: output?.toString(), wantsRefresh: members["stopPod"] === true };
  const error = errorText(members["error"]);
  return error === undefined ? { kind: "completed", ...result } : { kind: "failed", error, ...result };
}

type SplitPost =
  | {
      readonly kind: "split";
      readonly members: Readonly<Record<string, JsonValue>>;
      readonly output: Buffer | undefined;
    }
  | { readonly kind: "unreadable"; readonly why: string };

/** Parses all but the output. */
function splitPost(bytes: Buffer): SplitPost {
  const carver = new JsonCarver(["output"]);
  try {
    const pieces = carver.scan(bytes);
    carver.end();
    const rest = pieces.filter(({ carved }) => carved === null).map((piece) => piece.bytes);
    const members = parseObject(Buffer.concat(rest).toString());
    if (!members) return { kind: "unreadable", why: "it is no object" };
    const last = pieces.findLast(({ carved }) => carved !== null)?.bytes;
    return { kind: "split", members, output: last && Buffer.from(last.buffer, last.byteOffset, last.length) };
  } catch (error) {
    if (error instanceof JsonSyntaxError) return { kind: "unreadable", why: error.message };
    throw error;
  }
}

function valueOf(output: Buffer | undefined): JsonValue {
  return output ? (JSON.parse(output.toString()) as JsonValue) : null;
}

/** What a body posted to job-stream means: JSON texts, more than one when a text had to be cut. */
export type PostedChunk =
  | { readonly kind: "chunks"; readonly outputs: readonly string[] }
  | { readonly kind: "failed"; readonly error: string };

/**
 * Reads a body posted to job-stream. Text above the size of a chunk becomes several chunks, which mean the
 * same one after the other. No other value can be cut, so a large one fails its job.
 */
export function readChunk(body: ReceivedBody): PostedChunk {
  if (body.sizeBytes > RESULT_MAX_BYTES) return chunkTooLarge(body.sizeBytes);
  const posted = parseObject(body.bytes.toString());
  if (!posted) {
    return { kind: "failed", error: `A chunk that the handler yielded is not valid JSON. ${NO_JSON_FORM}` };
  }
  const output = posted["output"] ?? null;
  const json = JSON.stringify(output);
  const sizeBytes = Buffer.byteLength(json);
  if (sizeBytes <= CHUNK_MAX_BYTES) return { kind: "chunks", outputs: [json] };
  if (typeof output !== "string") return chunkTooLarge(sizeBytes);
  return { kind: "chunks", outputs: piecesOf(output).map((piece) => JSON.stringify(piece)) };
}

/** A character takes at most 6 bytes in JSON, as an escape. */
const PIECE_CHARACTERS = Math.floor((CHUNK_MAX_BYTES - 2) / 6);

function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length;) {
    const end = from + PIECE_CHARACTERS;
    // A character outside the basic plane has two halves, which must stay together.
    const isInPair = (text.codePointAt(end - 1) ?? 0) > 0xff_ff;
    pieces.push(text.slice(from, isInPair ? end - 1 : end));
    from = isInPair ? end - 1 : end;
  }
  return pieces;
}

function chunkTooLarge(sizeBytes: number): PostedChunk {
  const error =
    `The handler yielded a value of ${sizeBytes} bytes; the limit is ${CHUNK_MAX_BYTES} bytes, unless it is text. ` +
    "Yield smaller values, or store the data elsewhere and yield its address.";
  return { kind: "failed", error };
}

function tooLarge(body: ReceivedBody): PostedResult {
  // The start of the body is all there is; it tells a progress value from a result.
  const start = body.bytes.subarray(0, 100).toString();
  if (/^\s*\{\s*"status"\s*:\s*"IN_PROGRESS"/.test(start)) return { kind: "progress", value: null };
  return failed(
    `The result has ${body.sizeBytes} bytes; the limit is ${RESULT_MAX_BYTES} bytes. Store large results elsewhere and return their address.`,
  );
}

function failed(error: string): PostedResult {
  return { kind: "failed", error, output: undefined, wantsRefresh: false };
}

function parseObject(text: string): Record<string, JsonValue> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return value as Record<string, JsonValue>;
  } catch {
    return undefined;
  }
}

function errorText(error: JsonValue | undefined): string | undefined {
  if (error === undefined || error === null || error === "" || error === false) return undefined;
  return typeof error === "string" ? error : JSON.stringify(error);
}
