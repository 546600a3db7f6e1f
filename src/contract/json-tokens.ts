/** Readers for the parts of JSON text that have no parts of their own. Each goes on where a chunk ended. */

export class JsonSyntaxError extends Error {
  readonly offset: number;
  readonly #what: string;

  constructor(what: string, offset: number) {
    super(`${what} at byte ${offset}`);
    this.name = "JsonSyntaxError";
    this.offset = offset;
    this.#what = what;
  }

  movedBy(offset: number): JsonSyntaxError {
    return new JsonSyntaxError(this.#what, this.offset + offset);
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const HEX_DIGITS = 4;

/** Bytes that stand for themselves in a text: printable ASCII but the quote and the backslash. */
const IS_PLAIN = tableOf((byte) => byte >= 0x20 && byte < 0x80 && byte !== QUOTE && byte !== BACKSLASH);
const IS_ESCAPED = tableOf((byte) => '"\\/bfnrtu'.includes(String.fromCharCode(byte)));
const IS_HEX = tableOf((byte) => /[0-9a-fA-F]/.test(String.fromCharCode(byte)));
const IS_DIGIT = tableOf((byte) => byte >= 0x30 && byte <= 0x39);

type TextPart = "plain" | "escape" | "hex" | "continuation";

/** Text behind its first quote. */
export class TextReader {
  #part: TextPart = "plain";
  /** Bytes that the part still needs. */
  #left = 0;
  /** What the next byte of a character may be: UTF-8 allows no longer forms, surrogates or what Unicode lacks. */
  #low = 0x80;
  #high = 0xbf;
  #isOpen = true;

  /** The closing quote is still to come. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  begin(): void {
    this.#part = "plain";
    this.#isOpen = true;
  }

  /** Reads to the closing quote or the end of `bytes`; returns where it stopped. */
  read(bytes: Uint8Array, from: number): number {
    let at = from;
    while (this.#isOpen && at < bytes.length) {
      at = this.#part === "plain" ? this.#readPlain(bytes, at) : this.#readPart(bytes[at] ?? 0, at);
    }
    return at;
  }

  #readPlain(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length && IS_PLAIN[bytes[at] ?? 0] === 1) at += 1;
    if (at === bytes.length) return at;
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) this.#isOpen = false;
    else if (byte === BACKSLASH) this.#part = "escape";
    else this.#beginCharacter(byte, at);
    return at + 1;
  }

  #readPart(byte: number, at: number): number {
    if (this.#part === "escape") this.#readEscape(byte, at);
    else if (this.#part === "hex") {
      if (IS_HEX[byte] !== 1) throw new JsonSyntaxError("a wrong escape", at);
      this.#endPart();
    } else {
      if (byte < this.#low || byte > this.#high) throw new JsonSyntaxError("text that is not UTF-8", at);
      this.#low = 0x80;
      this.#high = 0xbf;
      this.#endPart();
    }
    return at + 1;
  }

  #readEscape(byte: number, at: number): void {
    if (IS_ESCAPED[byte] !== 1) throw new JsonSyntaxError("a wrong escape", at);
    this.#part = byte === LOWER_U ? "hex" : "plain";
    this.#left = HEX_DIGITS;
  }

  #endPart(): void {
    this.#left -= 1;
    if (this.#left === 0) this.#part = "plain";
  }

  #beginCharacter(byte: number, at: number): void {
    if (byte < 0x20) throw new JsonSyntaxError("a control character in a text", at);
    if (byte < 0xc2 || byte > 0xf4) throw new JsonSyntaxError("text that is not UTF-8", at);
    this.#part = "continuation";
    this.#left = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    this.#low = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
    this.#high = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
  }
}

type NumberPart = "minus" | "zero" | "digits" | "point" | "fraction" | "e" | "sign" | "exponent";

const AFTER_DIGIT: Readonly<Record<NumberPart, NumberPart | undefined>> = {
  minus: "digits",
  zero: undefined,
  digits: "digits",
  point: "fraction",
  fraction: "fraction",
  e: "exponent",
  sign: "exponent",
  exponent: "exponent",
};

/** A number behind its first byte. Nothing in it says that it ends, so the byte behind it belongs to others. */
export class NumberReader {
  #part: NumberPart = "zero";

  begin(first: number): void {
    this.#part = first === 0x2d ? "minus" : first === 0x30 ? "zero" : "digits";
  }

  /** What was read is a number, if no more of it comes. */
  get isWhole(): boolean {
    return ["zero", "digits", "fraction", "exponent"].includes(this.#part);
  }

  /** Reads as far as the number goes; returns where it stopped. */
  read(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.length; at += 1) {
      const next = this.#after(bytes[at] ?? 0);
      if (next === undefined) return at;
      this.#part = next;
    }
    return bytes.length;
  }

  #after(byte: number): NumberPart | undefined {
    const part = this.#part;
    if (IS_DIGIT[byte] === 1) return part === "minus" && byte === 0x30 ? "zero" : AFTER_DIGIT[part];
    switch (byte) {
      case 0x2e: // .
        return part === "zero" || part === "digits" ? "point" : undefined;
      case 0x45: // E
      case 0x65: // e
        return part === "zero" || part === "digits" || part === "fraction" ? "e" : undefined;
      case 0x2b: // +
      case 0x2d: // -
        return part === "e" ? "sign" : undefined;
      default:
        return undefined;
    }
  }
}

const WORDS = ["true", "false", "null"];

/** true, false or null behind its first byte. */
export class WordReader {
  #rest = "";

  /** False when no word begins so. */
  begin(first: number): boolean {
    this.#rest = WORDS.find((word) => word.charCodeAt(0) === first)?.slice(1) ?? "";
    return this.#rest !== "";
  }

  get isWhole(): boolean {
    return this.#rest === "";
  }

  read(bytes: Uint8Array, from: number): number {
    let at = from;
    for (; at < bytes.length && !this.isWhole; at += 1) {
      if (bytes[at] !== this.#rest.charCodeAt(0)) throw new JsonSyntaxError("an unexpected character", at);
      this.#rest = this.#rest.slice(1);
    }
    return at;
  }
}

function tableOf(is: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (is(byte) ? 1 : 0));
}
