/**
 * Reads JSON text as it arrives and carves values out of it, without ever holding one whole.
 *
 * K1  Exactly what RFC 8259 allows passes, in well-formed UTF-8, and nested no deeper than the reader wants.
 * K2  The pieces of a carved value, one after the other, are its text without the space around it.
 * K3  What is left, with `null` in the place of every carved value, is the same JSON text otherwise.
 */
import { JsonSyntaxError, NumberReader, TextReader, WordReader } from "./json-tokens.ts";
import { JSON_DEPTH_MAX } from "./limits.ts";

/** In a path: any element of a list. */
export const EACH = Symbol("each");
export type JsonPath = readonly (string | typeof EACH)[];

/** `carved` counts the carved values from 0; null is what is left. */
export type Piece = { readonly carved: number | null; readonly bytes: Uint8Array };

type ExpectedToken = "value" | "value or end" | "key" | "key or end" | "colon" | "comma or end";
/** What comes next: a token, or the rest of one. */
type Expected = ExpectedToken | "text" | "number" | "word";

const NULL = Uint8Array.from("null", (character) => character.charCodeAt(0));
/** No member that anybody carves has a longer name, escapes included. */
const KEY_MAX_BYTES = 256;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

export class JsonCarver {
  readonly #path: JsonPath;
  readonly #text = new TextReader();
  readonly #number = new NumberReader();
  readonly #word = new WordReader();
  readonly #depthMax: number;
  /** The bytes that close the open containers, the outermost first. */
  #closers = new Uint8Array(64);
  #depth = 0;
  /** How many steps of the path the open containers and the current key follow. */
  #matched = 0;
  #expected: Expected = "value";
  #isKey = false;
  #keyBytes: Uint8Array[] = [];
  #offset = 0;
  #carvedCount = 0;
  #isCarving = false;
  #pieces: Piece[] = [];
  #pieceFrom = 0;

  /** Carves the values at `path`: a name for each object on the way, EACH for each list; [] is the whole text. */
  constructor(path: JsonPath, depthMax = JSON_DEPTH_MAX) {
    this.#path = path;
    this.#depthMax = depthMax;
  }

  /** Reads on. The pieces are views of `bytes`. Throws JsonSyntaxError. */
  scan(bytes: Uint8Array): Piece[] {
    this.#pieces = [];
    this.#pieceFrom = 0;
    try {
      for (let at = 0; at < bytes.length;) at = this.#read(bytes, at);
    } catch (error) {
      throw error instanceof JsonSyntaxError ? error.movedBy(this.#offset) : error;
    }
    this.#cut(bytes, bytes.length);
    this.#offset += bytes.length;
    return this.#pieces;
  }

  /** There is no more. Throws JsonSyntaxError when something is missing. */
  end(): void {
    if (this.#expected === "number" && this.#number.isWhole) this.#expected = "comma or end";
    if (this.#expected !== "comma or end" || this.#depth > 0)
      throw new JsonSyntaxError("an unexpected end", this.#offset);
  }

  #read(bytes: Uint8Array, at: number): number {
    switch (this.#expected) {
      case "text":
        return this.#readText(bytes, at);
      case "number":
        return this.#readNumber(bytes, at);
      case "word":
        return this.#readWord(bytes, at);
      case "value":
      case "value or end":
      case "key":
      case "key or end":
      case "colon":
      case "comma or end":
        return this.#readToken(bytes, at, this.#expected);
    }
  }

  // Tokens

  #readToken(bytes: Uint8Array, at: number, expected: ExpectedToken): number {
    const byte = bytes[at] ?? 0;
    if (isSpace(byte)) return at + 1;
    switch (expected) {
      case "comma or end":
        return this.#readSeparator(bytes, byte, at);
      case "colon":
        return this.#readColon(byte, at);
      case "key or end":
        return byte === CLOSE_OBJECT ? this.#close(bytes, at) : this.#beginKey(byte, at);
      case "key":
        return this.#beginKey(byte, at);
      case "value or end":
        return byte === CLOSE_LIST ? this.#close(bytes, at) : this.#beginValue(bytes, byte, at);
      case "value":
        return this.#beginValue(bytes, byte, at);
    }
  }

  #readColon(byte: number, at: number): number {
    if (byte !== COLON) throw unexpected(at);
    this.#expected = "value";
    return at + 1;
  }

  #beginKey(byte: number, at: number): number {
    if (byte !== QUOTE) throw unexpected(at);
    return this.#beginText(at, true);
  }

  #readSeparator(bytes: Uint8Array, byte: number, at: number): number {
    if (this.#depth === 0) throw unexpected(at);
    const closer = this.#closers[this.#depth - 1];
    if (byte === closer) return this.#close(bytes, at);
    if (byte !== COMMA) throw unexpected(at);
    this.#expected = closer === CLOSE_OBJECT ? "key" : "value";
    return at + 1;
  }

  #beginValue(bytes: Uint8Array, byte: number, at: number): number {
    if (this.#depth === this.#path.length && this.#matched === this.#depth) this.#beginCarving(bytes, at);
    if (byte === QUOTE) return this.#beginText(at, false);
    if (byte === OPEN_OBJECT) return this.#open(CLOSE_OBJECT, "key or end", at);
    if (byte === OPEN_LIST) return this.#open(CLOSE_LIST, "value or end", at);
    if (byte === MINUS || (byte >= 0x30 && byte <= 0x39)) {
      this.#number.begin(byte);
      this.#expected = "number";
    } else {
      if (!this.#word.begin(byte)) throw unexpected(at);
      this.#expected = "word";
    }
    return at + 1;
  }

  #endValue(bytes: Uint8Array, end: number): number {
    this.#expected = "comma or end";
    if (this.#isCarving && this.#depth === this.#path.length) this.#endCarving(bytes, end);
    return end;
  }

  #readNumber(bytes: Uint8Array, at: number): number {
    const end = this.#number.read(bytes, at);
    if (end === bytes.length) return end;
    if (!this.#number.isWhole) throw unexpected(end);
    return this.#endValue(bytes, end);
  }

  #readWord(bytes: Uint8Array, at: number): number {
    const end = this.#word.read(bytes, at);
    return this.#word.isWhole ? this.#endValue(bytes, end) : end;
  }

  #beginText(at: number, isKey: boolean): number {
    this.#text.begin();
    this.#isKey = isKey;
    this.#keyBytes = [];
    this.#expected = "text";
    return at + 1;
  }

  #readText(bytes: Uint8Array, at: number): number {
    const end = this.#text.read(bytes, at);
    if (this.#isKey && this.#isOnPath())
      this.#keyBytes.push(bytes.slice(at, Math.min(end, at + KEY_MAX_BYTES + 1)));
    if (this.#text.isOpen) return end;
    if (!this.#isKey) return this.#endValue(bytes, end);
    this.#expected = "colon";
    if (this.#isOnPath()) this.#follow(readKey(this.#keyBytes));
    return end;
  }

  // Containers

  #open(closer: number, expected: Expected, at: number): number {
    if (this.#depth === this.#depthMax)
      throw new JsonSyntaxError(`more than ${this.#depthMax} levels of nesting`, at);
    if (this.#depth === this.#closers.length) this.#closers = doubled(this.#closers);
    this.#closers[this.#depth] = closer;
    this.#depth += 1;
    this.#expected = expected;
    if (closer === CLOSE_LIST && this.#isOnPath()) this.#follow(EACH);
    return at + 1;
  }

  #close(bytes: Uint8Array, at: number): number {
    this.#depth -= 1;
    this.#matched = Math.min(this.#matched, this.#depth);
    return this.#endValue(bytes, at + 1);
  }

  /** Whether the next step decides about a value to be carved. */
  #isOnPath(): boolean {
    return this.#depth <= this.#path.length && this.#matched >= this.#depth - 1;
  }

  #follow(step: JsonPath[number] | undefined): void {
    this.#matched = step === this.#path[this.#depth - 1] ? this.#depth : this.#depth - 1;
  }

  // Carving

  #beginCarving(bytes: Uint8Array, at: number): void {
    this.#cut(bytes, at);
    this.#pieces.push({ carved: null, bytes: NULL }); // K3
    this.#isCarving = true;
    this.#carvedCount += 1;
  }

  #endCarving(bytes: Uint8Array, end: number): void {
    this.#cut(bytes, end);
    this.#isCarving = false;
  }

  #cut(bytes: Uint8Array, end: number): void {
    const piece = bytes.subarray(this.#pieceFrom, end);
    const carved = this.#isCarving ? this.#carvedCount - 1 : null;
    if (piece.length > 0) this.#pieces.push({ carved, bytes: piece });
    this.#pieceFrom = end;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function doubled(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(bytes.length * 2);
  larger.set(bytes);
  return larger;
}

function unexpected(at: number): JsonSyntaxError {
  return new JsonSyntaxError("an unexpected character", at);
}

/** The name that a key means; undefined when it is longer than any that is looked for. Those are ASCII. */
function readKey(parts: readonly Uint8Array[]): string | undefined {
  const bytes = parts.flatMap((part) => [...part]);
  if (bytes.length > KEY_MAX_BYTES) return undefined;
  return JSON.parse(`"${String.fromCharCode(...bytes)}`) as string; // the closing quote was read with the rest
}
