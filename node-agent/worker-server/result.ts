import type { JsonValue } from "../../src/contract/json.ts";
import { RESULT_MAX_BYTES } from "../../src/contract/limits.ts";
import type { ReceivedBody } from "./body.ts";

/** What a body posted to job-done means. */
export type PostedResult =
  | { readonly kind: "progress"; readonly value: JsonValue }
  | { readonly kind: "completed"; readonly output: JsonValue | undefined; readonly wantsRefresh: boolean }
  | {
      readonly kind: "failed";
      readonly error: string;
      readonly output: JsonValue | undefined;
      readonly wantsRefresh: boolean;
    };

/** Reads a body posted to job-done. Never refuses: a result that cannot be used is a failure that says why. */
export function readResult(body: ReceivedBody): PostedResult {
  if (body.sizeBytes > RESULT_MAX_BYTES) return tooLarge(body);
  const posted = parseObject(body.text);
  if (!posted) {
    return failed(
      "The handler's result is not valid JSON. Values such as NaN and Infinity have no JSON form; return null or text instead.",
    );
  }
  if (posted["status"] === "IN_PROGRESS") return { kind: "progress", value: posted["output"] ?? null };
  const wantsRefresh = posted["stopPod"] === true;
  const output = posted["output"];
  const error = errorText(posted["error"]);
  if (error === undefined) return { kind: "completed", output, wantsRefresh };
  return { kind: "failed", error, output, wantsRefresh };
}

/** Reads the value of a chunk posted to job-stream, as JSON text; undefined when it is no chunk. */
export function readChunk(body: ReceivedBody): string | undefined {
  if (body.sizeBytes > RESULT_MAX_BYTES) return undefined;
  const posted = parseObject(body.text);
  return posted && JSON.stringify(posted["output"] ?? null);
}

function tooLarge(body: ReceivedBody): PostedResult {
  // The start of the body is all there is; it tells a progress value from a result.
  if (/^\s*\{\s*"status"\s*:\s*"IN_PROGRESS"/.test(body.text)) return { kind: "progress", value: null };
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
