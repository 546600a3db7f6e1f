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
import { JsonSyntaxError } from "./json-tokens.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A value that is carried as its own text: never parsed, and never encoded again. */
export class JsonText {
  readonly #source: Uint8Array;
  readonly #from: number;
  readonly #to: number;

  /** `source` holds valid JSON in UTF-8 from `from` to `to`. */
  constructor(source: Uint8Array, from = 0, to = source.byteLength) {
    this.#source = source;
    this.#from = from;
    this.#to = to;
  }

  static of(json: string): JsonText {
    return new JsonText(encoder.encode(json));
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

export const jsonTextSchema = z.instanceof(JsonText, { error: "is required" });

/** What is cut, prepared once. */
export function cutsAt(...paths: readonly JsonPath[]): PathTree {
  return pathTree(paths);
}

/**
 * Reads a JSON text and leaves the values at the paths as they are: each stands in the result as a JsonText.
 * Throws JsonSyntaxError, also where a member that is cut out stands twice in one object.
 */
export function cutJson(bytes: Uint8Array, paths: PathTree, limits?: CarverLimits): unknown {
  const carver = new JsonCarver(paths, limits);
  const pieces = carver.scan(bytes);
  carver.end();
  const rest = new ByteBuffer();
  const texts: JsonText[] = [];
  for (const { carved, from, to } of pieces) {
    if (carved === null) rest.add(bytes, from, to);
    else {
      rest.addNumber(carved); // a text that is read at once has one piece of each value
      texts.push(new JsonText(bytes, from, to));
    }
  }
  return putBack(rest.text(), paths, texts);
}

/** The elements of a list, each as its text. Throws JsonSyntaxError when `json` is no list. */
export function elementsOf(json: string): string[] {
  const elements = cutJson(encoder.encode(json), EACH_ELEMENT, UNLIMITED);
  if (!Array.isArray(elements)) throw new JsonSyntaxError("no list", 0);
  return elements.map((element: JsonText) => element.json);
}

const EACH_ELEMENT = cutsAt([EACH]);
const UNLIMITED = { depthMax: Number.POSITIVE_INFINITY, carvedMax: Number.POSITIVE_INFINITY };

/** Puts values in the places of the numbers that a carver has left for them. Each of them has one. */
export function putBack<Value>(rest: string, paths: PathTree, values: readonly Value[]): unknown {
  let count = 0;
  const placed = replaceAt(JSON.parse(rest), paths, (number) => {
    count += 1;
    return values[number];
  });
  if (count < values.length) throw new JsonSyntaxError("a member that stands twice in its object", 0);
  return placed;
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
