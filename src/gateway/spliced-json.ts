/** JSON text made of text at hand and of payloads that are in R2; those pass through and are never whole here. */
import { ignoreFailure } from "../std/errors.ts";
import type { Context } from "hono";
import { openPayload, type StoredPayload } from "../durable/stored-payload.ts";

/** A piece of text, or where it is kept. */
export type JsonPart = string | StoredPart;
export type StoredPart = {
  readonly sizeBytes: number;
  /** Undefined when there is nothing any more. */
  readonly open: () => Promise<ReadableStream<Uint8Array> | undefined>;
};

const encoder = new TextEncoder();

export function storedPart(bucket: R2Bucket, payload: StoredPayload): StoredPart {
  return { sizeBytes: payload.sizeBytes, open: () => openPayload(bucket, payload) };
}

/** Members of an object, or the text of an object that this program wrote. */
type Members = object | string;

/** Writes `members` as a JSON object with one more member whose value is already JSON text. */
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

/** The object without its end, ready for another member. */
function openEnded(members: Members): string {
  const text = typeof members === "string" ? members : JSON.stringify(members);
  return text === "{}" ? "{" : `${text.slice(0, -1)},`;
}

/** The parts one after the other as an answer, which says how long it is. */
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
    await writable.abort(error).catch(ignoreFailure); // the reader has gone, or sees that the text is cut off
  }
}

/** What was removed in the meantime is null, and spaces in the length that was announced. */
async function pass({ sizeBytes, open }: StoredPart, writable: WritableStream): Promise<void> {
  const stream = await open();
  if (stream) await stream.pipeTo(writable, { preventClose: true });
  else await write(encoder.encode("null".padEnd(sizeBytes)), writable);
}

async function write(bytes: Uint8Array, writable: WritableStream): Promise<void> {
  const writer = writable.getWriter();
  await writer.write(bytes);
  writer.releaseLock();
}
