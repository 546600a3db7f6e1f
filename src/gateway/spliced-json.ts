/** JSON that is spliced from strings and from payloads in R2, which are streamed. */
import { ignoreFailure } from "../std/errors.ts";
import type { Context } from "hono";

/** A string, or a payload that is stored. */
export type JsonPart = string | StoredPart;
export type StoredPart = {
  readonly sizeBytes: number;
  readonly open: () => Promise<ReadableStream<Uint8Array>>;
};

const encoder = new TextEncoder();

/** Members of an object, or an object as JSON that this program wrote. */
type Members = object | string;

/** Writes `members` as a JSON object with one more member whose value is JSON already. */
export function spliceJson(members: Members, name: string, json: string): string {
  return `${beginMember(members, name)}${json}}`;
}

/** The same with a value that comes in parts. */
export function spliceParts(members: Members, name: string, value: readonly JsonPart[]): JsonPart[] {
  return [beginMember(members, name), ...value, "}"];
}

/** The members of both as one object; none may be in both. */
export function mergeJson(members: object, others: string): string {
  return others === "{}" ? JSON.stringify(members) : `${openEnded(members)}${others.slice(1)}`;
}

function beginMember(members: Members, name: string): string {
  return `${openEnded(members)}${JSON.stringify(name)}:`;
}

/** The object without its closing brace, ready for another member. */
function openEnded(members: Members): string {
  const text = typeof members === "string" ? members : JSON.stringify(members);
  return text === "{}" ? "{" : `${text.slice(0, -1)},`;
}

/** Answers with the concatenated parts and their length. */
export function jsonResponse(context: Context, parts: readonly JsonPart[]): Response {
  return context.body(isText(parts) ? parts.join("") : streamParts(context, parts), 200, {
    "Content-Type": "application/json",
  });
}

function isText(parts: readonly JsonPart[]): parts is readonly string[] {
  return parts.every((part) => typeof part === "string");
}

function streamParts(context: Context, parts: readonly JsonPart[]): ReadableStream {
  const encoded = parts.map((part) => (typeof part === "string" ? encoder.encode(part) : part));
  const sizeBytes = encoded.reduce(
    (sum, part) => sum + (part instanceof Uint8Array ? part.byteLength : part.sizeBytes),
    0,
  );
  const { readable, writable } = new FixedLengthStream(sizeBytes);
  context.executionCtx.waitUntil(writeAll(encoded, writable));
  return readable;
}

async function writeAll(
  parts: readonly (Uint8Array | StoredPart)[],
  writable: WritableStream,
): Promise<void> {
  try {
    for (const part of parts) {
      if (part instanceof Uint8Array) await write(part, writable);
      else await pass(part, writable);
    }
    await writable.close();
  } catch (error) {
    await writable.abort(error).catch(ignoreFailure); // the client has gone, or sees that the body is incomplete
  }
}

async function pass({ open }: StoredPart, writable: WritableStream): Promise<void> {
  await (await open()).pipeTo(writable, { preventClose: true });
}

async function write(bytes: Uint8Array, writable: WritableStream): Promise<void> {
  const writer = writable.getWriter();
  await writer.write(bytes);
  writer.releaseLock();
}
