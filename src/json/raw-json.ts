/** JSON values as the bytes that their sender wrote, cut out of the text in which they came. */
import * as z from "zod";
import { ByteBuffer } from "./byte-buffer.ts";
import {
  EACH,
  JsonCarver,
  pathTree,
  type CarverLimits,
  type JsonPath,
  type PathTree,
} from "./json-carver.ts";
import { JsonCountError, JsonSyntaxError } from "./json-tokens.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A value that is carried as its own text: never parsed, and never encoded again. */
export class RawJson {
  readonly #source: Uint8Array;
  readonly #from: number;
  readonly #to: number;

  /** `source` holds valid JSON in UTF-8 from `from` to `to`. */
  constructor(source: Uint8Array, from = 0, to = source.byteLength) {
    this.#source = source;
    this.#from = from;
    this.#to = to;
  }

  static of(json: string): RawJson {
    return new RawJson(encoder.encode(json));
  }

  get bytes(): Uint8Array {
    return this.#source.subarray(this.#from, this.#to);
  }

  get sizeBytes(): number {
    return this.#to - this.#from;
  }

  get json(): string {
    return decoder.decode(this.bytes);
  }
}

export const rawJsonSchema = z.instanceof(RawJson, { error: "is required" });

/** What is cut, prepared once. */
export function cutsAt(...paths: readonly JsonPath[]): PathTree {
  return pathTree(paths);
}

/**
 * Reads a JSON text and leaves the values at the paths as they are: each is in the result as a RawJson.
 * Throws JsonSyntaxError.
 */
export function cutJson(bytes: Uint8Array, paths: PathTree, limits?: CarverLimits): unknown {
  const carver = new JsonCarver(paths, limits);
  const pieces = carver.scan(bytes);
  carver.end();
  const rest = new ByteBuffer();
  const values: RawJson[] = [];
  for (const { carved, from, to } of pieces) {
    if (carved === null) rest.add(bytes, from, to);
    else {
      rest.addNumber(carved); // a text that is read at once has one piece of each value
      values.push(new RawJson(bytes, from, to));
    }
  }
  const left = rest.text();
  if (hasMoreValues(left, LEFT_VALUES_MAX)) throw new JsonCountError(LEFT_VALUES_MAX, 0);
  return putBack(left, paths, values);
}

/** The most values that are parsed beside those that are cut out: each takes some hundred bytes of memory. */
const LEFT_VALUES_MAX = 200_000;

/** Whether a JSON text has more than `most` values, found without making them. Where it is no JSON nothing more counts. */
export function hasMoreValues(json: string, most: number): boolean {
  let count = 1;
  for (let at = 0; at < json.length && count <= most; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at);
    else if (code === COMMA || code === OPEN_LIST || code === OPEN_OBJECT) count += 1;
  }
  return count > most;
}

/** Where the text that begins at `from` has its closing quote. */
function endOfString(json: string, from: number): number {
  for (let at = from + 1; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return json.length;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;

/** The most elements of a list that are read one by one. */
const ELEMENTS_MAX = 100_000;
const SLICE_CHARACTERS = 64 * 1024;

/**
 * The elements of a list, each as its text; the list is read only as far as they are wanted. Throws JsonSyntaxError when
 * `json` is no list, and JsonCountError when it has more than 100,000 elements.
 */
export function* elementsOf(json: string): Generator<string, void, undefined> {
  const carver = new JsonCarver(EACH_ELEMENT, {
    depthMax: Number.POSITIVE_INFINITY,
    carvedMax: ELEMENTS_MAX,
  });
  const element = new ByteBuffer();
  let number = 0;
  for (const bytes of slicesOf(json)) {
    for (const { carved, from, to } of carver.scan(bytes)) {
      if (carved === null) continue;
      if (carved > number) {
        yield element.take();
        number = carved;
      }
      element.add(bytes, from, to);
    }
  }
  carver.end();
  if (!element.isEmpty) yield element.take();
  else if (!json.trimStart().startsWith("[")) throw new JsonSyntaxError("no list", 0);
}

/** Whether a text is JSON, however large it is: nothing is made of it. */
export function isJson(json: string): boolean {
  const carver = new JsonCarver(NOTHING, { depthMax: Number.POSITIVE_INFINITY });
  try {
    for (const bytes of slicesOf(json)) carver.scan(bytes);
    carver.end();
    return true;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
}

const EACH_ELEMENT = cutsAt([EACH]);
const NOTHING = cutsAt();

/** The text in UTF-8; no character is cut in two. */
function* slicesOf(json: string): Generator<Uint8Array, void, undefined> {
  for (let at = 0; at < json.length;) {
    const end = at + SLICE_CHARACTERS;
    const isInside = end < json.length && (json.codePointAt(end - 1) ?? 0) > 0xff_ff;
    const next = isInside ? end + 1 : end;
    yield encoder.encode(json.slice(at, next));
    at = next;
  }
}

/** Puts values in the places of the numbers that a carver has left for them. */
export function putBack<Value>(rest: string, paths: PathTree, values: readonly Value[]): unknown {
  return replaceAt(JSON.parse(rest), paths, (number) => values[number]);
}

function replaceAt(value: unknown, { path, next }: PathTree, toValue: (number: number) => unknown): unknown {
  if (path !== null) return toValue(value as number);
  const each = next.get(EACH);
  if (Array.isArray(value)) return each ? value.map((element) => replaceAt(element, each, toValue)) : value;
  if (typeof value !== "object" || value === null) return value;
  const members = value as Record<string, unknown>;
  for (const [name, place] of next) {
    if (typeof name === "string" && Object.hasOwn(members, name))
      members[name] = replaceAt(members[name], place, toValue);
  }
  return members;
}

/** Values that came out of `JSON.parse`. Not looked into: they are the user's, and may be megabytes. */

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** Any JSON value that is there; `null` is there. */
export const jsonValueSchema = z.custom<JsonValue>((value) => value !== undefined, "is required");
