import { cutJson, cutsAt, RawJson } from "../../src/json/raw-json.ts";
import { JsonSyntaxError } from "../../src/json/json-tokens.ts";
import { CHUNK_MAX_BYTES, RESULT_MAX_BYTES } from "../../src/contract/limits.ts";
import type { ReceivedBody } from "./bodies.ts";

/** What a body posted to job-done means. The output is JSON text as the worker wrote it, and may be megabytes. */
export type PostedResult =
  | { readonly kind: "progress"; readonly output: string }
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

/** Reads a body posted to job-done. Never refuses: a result that cannot be used becomes a failure with the reason. */
export function readResult(body: ReceivedBody): PostedResult {
  if (body.sizeBytes > POST_MAX_BYTES) return tooLarge(body);
  const posted = splitPost(body.bytes);
  if (posted.kind === "unreadable") {
    return failed(`The handler's result is not valid JSON: ${posted.why}. ${NO_JSON_FORM}`);
  }
  const { members, output } = posted;
  if (members["status"] === "IN_PROGRESS") return { kind: "progress", output: output?.json ?? "null" };
  if (output && output.sizeBytes > RESULT_MAX_BYTES)
    return tooLarge({ ...body, sizeBytes: output.sizeBytes });
  const result = { output: output?.json, wantsRefresh: members["stopPod"] === true };
  const error = errorText(members["error"]);
  return error === undefined ? { kind: "completed", ...result } : { kind: "failed", error, ...result };
}

type SplitPost =
  | {
      readonly kind: "split";
      readonly members: Readonly<Record<string, unknown>>;
      readonly output: RawJson | undefined;
    }
  | { readonly kind: "unreadable"; readonly why: string };

const VALUES = cutsAt(["output"], ["error"]);

/** Parses all but the output and the error. */
function splitPost(bytes: Buffer): SplitPost {
  try {
    const posted = cutJson(bytes, VALUES);
    if (!isObject(posted)) return { kind: "unreadable", why: "it is no object" };
    const { output, ...members } = posted;
    return { kind: "split", members, output: output instanceof RawJson ? output : undefined };
  } catch (error) {
    if (error instanceof JsonSyntaxError) return { kind: "unreadable", why: error.message };
    throw error;
  }
}

/** What a body posted to job-stream means: JSON texts, more than one when a text had to be cut. */
export type PostedChunk =
  | { readonly kind: "chunks"; readonly outputs: readonly string[] }
  | { readonly kind: "failed"; readonly error: string };

/**
 * Reads a body posted to job-stream. A string above the size of a chunk becomes several chunks, which mean the
 * same one after the other. No other value can be cut, so a large one fails its job.
 */
export function readChunk(body: ReceivedBody): PostedChunk {
  if (body.sizeBytes > RESULT_MAX_BYTES) return chunkTooLarge(body.sizeBytes);
  const posted = splitPost(body.bytes);
  if (posted.kind === "unreadable") {
    const error = `A chunk that the handler yielded is not valid JSON: ${posted.why}. ${NO_JSON_FORM}`;
    return { kind: "failed", error };
  }
  const { output } = posted;
  if (!output) return { kind: "chunks", outputs: ["null"] };
  if (output.sizeBytes <= CHUNK_MAX_BYTES) return { kind: "chunks", outputs: [output.json] };
  if (output.bytes[0] !== QUOTE) return chunkTooLarge(output.sizeBytes);
  return { kind: "chunks", outputs: [...piecesOf(output.json)] };
}

const QUOTE = 0x22;
/** A UTF-16 unit takes at most 3 bytes. */
const PIECE_UNITS = Math.floor((CHUNK_MAX_BYTES - 2) / 3);
/** In the text of a string: what may be cut anywhere, or what must stay together. */
const PLAIN = /[^\\\ud800-\udbff]+/y;
const UNDIVIDED =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\.|[\ud800-\udbff][\udc00-\udfff]?/y;

/** The text of a string as the texts of several. */
function* piecesOf(json: string): Generator<string> {
  const end = json.length - 1; // the closing quote
  for (let from = 1; from < end;) {
    const to = Math.min(end, endOfPiece(json, from));
    yield `"${json.slice(from, to)}"`;
    from = to;
  }
}

/** Where a piece that begins at `from` must end at the latest. */
function endOfPiece(json: string, from: number): number {
  const limit = from + PIECE_UNITS;
  for (let at = from; ;) {
    at += lengthAt(PLAIN, json, at);
    if (at >= limit) return limit;
    const length = lengthAt(UNDIVIDED, json, at);
    if (length === 0 || at + length > limit) return at;
    at += length;
  }
}

function lengthAt(pattern: RegExp, json: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(json)?.[0].length ?? 0;
}

function chunkTooLarge(sizeBytes: number): PostedChunk {
  const error =
    `The handler yielded a value of ${sizeBytes} bytes; the limit is ${CHUNK_MAX_BYTES} bytes, unless it is text. ` +
    "Yield smaller values, or store the data elsewhere and yield its address.";
  return { kind: "failed", error };
}

function tooLarge(body: ReceivedBody): PostedResult {
  // The start of the body is all there is; it distinguishes a progress value from a result.
  const start = body.bytes.subarray(0, 100).toString();
  if (/^\s*\{\s*"status"\s*:\s*"IN_PROGRESS"/.test(start)) return { kind: "progress", output: "null" };
  return failed(
    `The result has ${body.sizeBytes} bytes; the limit is ${RESULT_MAX_BYTES} bytes. Store large results elsewhere and return their address.`,
  );
}

function failed(error: string): PostedResult {
  return { kind: "failed", error, output: undefined, wantsRefresh: false };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** null, false, zero and what is empty: what Python takes for false, and its SDK for no error. */
const NO_ERROR = /^(?:null|false|""|\[\s*\]|\{\s*\}|-?0(?:\.0+)?(?:[eE][+-]?\d+)?)$/;

/** A string is used as it is, any other value as its JSON text. */
function errorText(error: unknown): string | undefined {
  const json = error instanceof RawJson ? error.json : "null";
  if (NO_ERROR.test(json)) return undefined;
  return json.startsWith('"') ? (JSON.parse(json) as string) : json;
}
