/**
 * Reads JSON text as it arrives and carves values out of it, without ever holding one whole.
 *
 * K1  Exactly what RFC 8259 allows passes, in well-formed UTF-8. No carved value is nested deeper than the reader
 *     wants, and neither is what is left, wherever they are.
 * K2  The pieces of a carved value, one after the other, are its text without the space around it.
 * K3  No member that is carved, or in which there are such, occurs twice in one object.
 * K4  What is left, with its number in the place of every carved value, is the same JSON text otherwise.
 */
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  JsonCountError,
  JsonDepthError,
  JsonRepeatError,
  JsonSyntaxError,
  unexpected,
  ValueReader,
} from "./json-tokens.ts";

/** Nesting of a payload of any size. JSON parsers of other languages support half of it. */
export const JSON_DEPTH_MAX = 2_000;

/** In a path: any element of a list. */
export const EACH: unique symbol = Symbol("each");
/** A name for each object on the way, EACH for each list; [] is the whole text. */
export type JsonPath = readonly (string | typeof EACH)[];

/** A piece of what was read: the bytes `from` to `to`. A body may have many, so a piece has no view of its bytes. */
export type Piece = {
  /** Counts the carved values from 0; null is what is left. */
  readonly carved: number | null;
  /** The path of a carved value, by its index. */
  readonly path: number | null;
  /** The first piece of a carved value, whose number is here in what is left (K4). */
  readonly isFirst: boolean;
  readonly from: number;
  readonly to: number;
};

/** The paths as a tree: where each step leads, and the path that ends here. */
export type PathTree = {
  path: number | null;
  readonly next: Map<JsonPath[number], PathTree>;
};

/** No path may begin with another one: what is carved is not looked into. */
export function pathTree(paths: readonly JsonPath[]): PathTree {
  const root: PathTree = { path: null, next: new Map() };
  for (const [index, path] of paths.entries()) {
    let place = root;
    for (const step of path) {
      const child = place.next.get(step) ?? { path: null, next: new Map() };
      place.next.set(step, child);
      place = child;
    }
    place.path = index;
  }
  return root;
}

type ExpectedToken = "value" | "value or end" | "key" | "key or end" | "colon" | "comma or end";
/** What comes next: a token, or the rest of a key or of a value into which no path leads. */
type Expected = ExpectedToken | "rest";

/** The most values that any message of ours holds. */
const CARVED_MAX = 150_000;

export type CarverLimits = { readonly depthMax?: number; readonly carvedMax?: number };

const NO_BYTES: Uint8Array = new Uint8Array(0);
const NOT_CARVED = { number: null, path: null };
/** No member that is carved has a longer name, escapes included. */
const KEY_MAX_BYTES = 256;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
/** The byte that closes a container, by the one that opens it. */
const CLOSERS: ReadonlyMap<number, number> = new Map([
  [0x7b, CLOSE_OBJECT],
  [0x5b, CLOSE_LIST],
]);

/** A container into which the paths lead: where they lead there, the byte that closes it, the places found so far. */
type Followed = { readonly place: PathTree; readonly closer: number; readonly found: PathTree[] };

export class JsonCarver {
  /** Reads keys, and in one go all values into which no path leads. */
  readonly #reader: ValueReader;
  readonly #depthMax: number;
  readonly #carvedMax: number;
  /** The open containers, the outermost first; those that `#reader` reads do not count. */
  readonly #open: Followed[] = [];
  /** Where the paths lead at the next value; undefined where nothing is carved. */
  #place: PathTree | undefined;
  #expected: Expected = "value";
  #isKey = false;
  #keyBytes: Uint8Array = NO_BYTES;
  #offset = 0;
  #carvedCount = 0;
  /** The value that is being carved. */
  #carving: { readonly number: number; readonly path: number } | null = null;
  #isFirst = false;
  #pieces: Piece[] = [];
  #pieceFrom = 0;

  /** Carves at most `carvedMax` values at the paths, each of which may nest `depthMax` levels deep. */
  constructor(paths: PathTree, { depthMax = JSON_DEPTH_MAX, carvedMax = CARVED_MAX }: CarverLimits = {}) {
    this.#place = paths;
    this.#reader = new ValueReader(depthMax);
    this.#depthMax = depthMax;
    this.#carvedMax = carvedMax;
  }

  /** Reads on. The pieces are places in `bytes`. Throws JsonSyntaxError. */
  scan(bytes: Uint8Array): Piece[] {
    this.#pieces = [];
    this.#pieceFrom = 0;
    try {
      for (let at = 0; at < bytes.length;) at = this.#read(bytes, at);
    } catch (error) {
      if (error instanceof JsonSyntaxError) error.moveBy(this.#offset);
      throw error;
    }
    this.#cut(bytes.length);
    this.#offset += bytes.length;
    return this.#pieces;
  }

  /** There is no more. Throws JsonSyntaxError when something is missing. */
  end(): void {
    if (this.#expected === "rest" && this.#reader.isWholeNumber) this.#expected = "comma or end";
    if (this.#expected !== "comma or end" || this.#open.length > 0)
      throw new JsonSyntaxError("an unexpected end", this.#offset);
  }

  #read(bytes: Uint8Array, at: number): number {
    if (this.#expected !== "rest") return this.#readToken(bytes, at, this.#expected);
    const end = this.#reader.read(bytes, at);
    if (this.#isKey) this.#keepKey(bytes.subarray(at, end));
    if (this.#reader.isOpen) return end;
    if (!this.#isKey) return this.#endValue(end);
    this.#expected = "colon";
    this.#place = this.#follow(readKey(this.#keyBytes) ?? "", at);
    return end;
  }

  // Tokens

  #readToken(bytes: Uint8Array, at: number, expected: ExpectedToken): number {
    const byte = bytes[at] ?? 0;
    if (isSpace(byte)) return at + 1;
    switch (expected) {
      case "comma or end":
        return this.#readSeparator(byte, at);
      case "colon":
        return this.#readColon(byte, at);
      case "key or end":
        return byte === CLOSE_OBJECT ? this.#leave(at) : this.#beginKey(byte, at);
      case "key":
        return this.#beginKey(byte, at);
      case "value or end":
        return byte === CLOSE_LIST ? this.#leave(at) : this.#beginValue(byte, at);
      case "value":
        return this.#beginValue(byte, at);
    }
  }

  #readColon(byte: number, at: number): number {
    if (byte !== COLON) throw unexpected(at);
    this.#expected = "value";
    return at + 1;
  }

  #beginKey(byte: number, at: number): number {
    if (byte !== QUOTE) throw unexpected(at);
    this.#keyBytes = NO_BYTES;
    return this.#beginRest(byte, at, true);
  }

  #beginRest(first: number, at: number, isKey: boolean): number {
    this.#reader.begin(first, at, this.#carving ? 0 : this.#open.length); // K1
    this.#isKey = isKey;
    this.#expected = "rest";
    return at + 1;
  }

  #readSeparator(byte: number, at: number): number {
    const closer = this.#open.at(-1)?.closer;
    if (byte === closer) return this.#leave(at);
    if (byte !== COMMA || closer === undefined) throw unexpected(at);
    this.#expected = closer === CLOSE_OBJECT ? "key" : "value";
    return at + 1;
  }

  #beginValue(byte: number, at: number): number {
    const around = this.#open.at(-1);
    if (around?.closer === CLOSE_LIST) this.#place = around.place.next.get(EACH);
    const place = this.#place;
    if (typeof place?.path === "number") this.#beginCarving(at, place.path);
    const closer = CLOSERS.get(byte);
    if (!place || this.#carving || closer === undefined || !leadsInto(place, closer)) {
      return this.#beginRest(byte, at, false);
    }
    if (this.#open.length >= this.#depthMax) throw new JsonDepthError(this.#depthMax, at);
    this.#open.push({ place, closer, found: [] });
    this.#expected = closer === CLOSE_OBJECT ? "key or end" : "value or end";
    return at + 1;
  }

  #endValue(end: number): number {
    this.#expected = "comma or end";
    if (this.#carving) this.#endCarving(end);
    return end;
  }

  #follow(name: string, at: number): PathTree | undefined {
    const around = this.#open.at(-1);
    const place = around?.place.next.get(name);
    if (around === undefined || place === undefined) return undefined;
    if (around.found.includes(place)) throw new JsonRepeatError(name, at); // K3
    around.found.push(place);
    return place;
  }

  /** The key may be cut anywhere between two chunks. One that is too long for any path is not kept whole. */
  #keepKey(chunk: Uint8Array): void {
    const buffered = this.#keyBytes;
    this.#keyBytes = buffered.length === 0 ? chunk.slice(0, KEY_MAX_BYTES + 1) : joined(buffered, chunk);
  }

  #leave(at: number): number {
    this.#open.pop();
    return this.#endValue(at + 1);
  }

  // Carving

  #beginCarving(at: number, path: number): void {
    if (this.#carvedCount === this.#carvedMax) throw new JsonCountError(this.#carvedMax, at);
    this.#cut(at);
    this.#carving = { number: this.#carvedCount, path };
    this.#isFirst = true;
    this.#carvedCount += 1;
  }

  #endCarving(end: number): void {
    this.#cut(end);
    this.#carving = null;
  }

  #cut(to: number): void {
    const from = this.#pieceFrom;
    const { number, path } = this.#carving ?? NOT_CARVED;
    if (to > from) {
      this.#pieces.push({ carved: number, path, isFirst: this.#isFirst, from, to });
      this.#isFirst = false;
    }
    this.#pieceFrom = to;
  }
}

function leadsInto({ next }: PathTree, closer: number): boolean {
  return closer === CLOSE_LIST ? next.has(EACH) : next.size > (next.has(EACH) ? 1 : 0);
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const length = Math.min(first.length + second.length, KEY_MAX_BYTES + 1);
  const both = new Uint8Array(length);
  both.set(first);
  both.set(second.subarray(0, length - first.length), first.length);
  return both;
}

/** The name that a key means; undefined when it is longer than any that is looked for. Those are ASCII. */
function readKey(bytes: Uint8Array): string | undefined {
  if (bytes.length > KEY_MAX_BYTES) return undefined;
  const name = String.fromCharCode(...bytes); // the closing quote was read with the rest
  return name.includes("\\") ? (JSON.parse(`"${name}`) as string) : name.slice(0, -1);
}
