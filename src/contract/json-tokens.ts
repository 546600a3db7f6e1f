/**
 * Readers for the parts of JSON text that have no parts of their own; each goes on where a chunk ended.
 * Text and numbers are tables of rules, because they are most of the bytes.
 */

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

/** From a state, by a byte in a range, to a state. Without a rule there is no way on: state 0. */
type Rule = readonly [from: number, low: number, high: number, to: number];

const NOWHERE = 0;

function tableOf(stateCount: number, rules: readonly Rule[]): Uint8Array {
  const table = new Uint8Array(stateCount * 256);
  for (const [from, low, high, to] of rules) table.fill(to, from * 256 + low, from * 256 + high + 1);
  return table;
}

// Text

const CLOSED = 1;
const PLAIN = 2;
const ESCAPE = 3;
const HEX_1 = 4;
const HEX_2 = 5;
const HEX_3 = 6;
const HEX_4 = 7;
const TAIL_1 = 8;
const TAIL_2 = 9;
const TAIL_3 = 10;
const AFTER_E0 = 11;
const AFTER_ED = 12;
const AFTER_F0 = 13;
const AFTER_F4 = 14;

const HEX_PLACES: readonly (readonly [from: number, to: number])[] = [
  [HEX_1, HEX_2],
  [HEX_2, HEX_3],
  [HEX_3, HEX_4],
  [HEX_4, PLAIN],
];

const TEXT = tableOf(15, [
  [PLAIN, 0x20, 0x7f, PLAIN],
  [PLAIN, 0x22, 0x22, CLOSED],
  [PLAIN, 0x5c, 0x5c, ESCAPE],
  ...'"\\/bfnrt'.split("").map((sign): Rule => [ESCAPE, codeOf(sign), codeOf(sign), PLAIN]),
  [ESCAPE, codeOf("u"), codeOf("u"), HEX_1],
  ...HEX_PLACES.flatMap(([from, to]): Rule[] => [
    [from, codeOf("0"), codeOf("9"), to],
    [from, codeOf("a"), codeOf("f"), to],
    [from, codeOf("A"), codeOf("F"), to],
  ]),
  // UTF-8 as RFC 3629 has it: no longer forms, no surrogates, nothing that Unicode lacks.
  [PLAIN, 0xc2, 0xdf, TAIL_1],
  [PLAIN, 0xe0, 0xe0, AFTER_E0],
  [PLAIN, 0xe1, 0xef, TAIL_2],
  [PLAIN, 0xed, 0xed, AFTER_ED],
  [PLAIN, 0xf0, 0xf0, AFTER_F0],
  [PLAIN, 0xf1, 0xf3, TAIL_3],
  [PLAIN, 0xf4, 0xf4, AFTER_F4],
  [TAIL_1, 0x80, 0xbf, PLAIN],
  [TAIL_2, 0x80, 0xbf, TAIL_1],
  [TAIL_3, 0x80, 0xbf, TAIL_2],
  [AFTER_E0, 0xa0, 0xbf, TAIL_1],
  [AFTER_ED, 0x80, 0x9f, TAIL_1],
  [AFTER_F0, 0x90, 0xbf, TAIL_2],
  [AFTER_F4, 0x80, 0x8f, TAIL_2],
]);

/** Text behind its first quote. */
export class TextReader {
  #state = PLAIN;

  begin(): void {
    this.#state = PLAIN;
  }

  /** The closing quote is still to come. */
  get isOpen(): boolean {
    return this.#state !== CLOSED;
  }

  /** Reads to behind the closing quote, or to the end of `bytes`; returns where it stopped. */
  read(bytes: Uint8Array, from: number): number {
    let state = this.#state;
    let at = from;
    for (; at < bytes.length && state !== CLOSED; at += 1) {
      const byte = bytes[at] ?? 0;
      const next = TEXT[state * 256 + byte] ?? NOWHERE;
      if (next === NOWHERE) throw new JsonSyntaxError(whatIsWrong(state, byte), at);
      state = next;
    }
    this.#state = state;
    return at;
  }
}

function whatIsWrong(state: number, byte: number): string {
  if (state === PLAIN && byte < 0x20) return "a control character in a text";
  return state === PLAIN || state >= TAIL_1 ? "text that is not UTF-8" : "a wrong escape";
}

// Numbers

const ZERO = 1;
const DIGITS = 2;
const FRACTION = 3;
const EXPONENT = 4;
const AFTER_MINUS = 5;
const AFTER_POINT = 6;
const AFTER_E = 7;
const AFTER_SIGN = 8;
const WHOLE_MAX = EXPONENT;

const E_SIGNS = [codeOf("e"), codeOf("E")];

const NUMBER = tableOf(9, [
  [AFTER_MINUS, codeOf("1"), codeOf("9"), DIGITS],
  [AFTER_MINUS, codeOf("0"), codeOf("0"), ZERO],
  [DIGITS, codeOf("0"), codeOf("9"), DIGITS],
  ...[ZERO, DIGITS].map((from): Rule => [from, codeOf("."), codeOf("."), AFTER_POINT]),
  ...[AFTER_POINT, FRACTION].map((from): Rule => [from, codeOf("0"), codeOf("9"), FRACTION]),
  ...[ZERO, DIGITS, FRACTION].flatMap((from) => E_SIGNS.map((sign): Rule => [from, sign, sign, AFTER_E])),
  ...["+", "-"].map((sign): Rule => [AFTER_E, codeOf(sign), codeOf(sign), AFTER_SIGN]),
  ...[AFTER_E, AFTER_SIGN, EXPONENT].map((from): Rule => [from, codeOf("0"), codeOf("9"), EXPONENT]),
]);

/** A number behind its first byte. Nothing in it says that it ends, so it stops in front of what is none of it. */
export class NumberReader {
  #state = ZERO;

  begin(first: number): void {
    this.#state = first === codeOf("-") ? AFTER_MINUS : first === codeOf("0") ? ZERO : DIGITS;
  }

  /** What was read is a number, if no more of it comes. */
  get isWhole(): boolean {
    return this.#state <= WHOLE_MAX;
  }

  /** Reads as far as the number goes; returns where it stopped. */
  read(bytes: Uint8Array, from: number): number {
    let state = this.#state;
    let at = from;
    for (; at < bytes.length; at += 1) {
      const next = NUMBER[state * 256 + (bytes[at] ?? 0)] ?? NOWHERE;
      if (next === NOWHERE) break;
      state = next;
    }
    this.#state = state;
    return at;
  }
}

// Words

const WORDS = ["true", "false", "null"];

/** true, false or null behind its first byte. */
export class WordReader {
  #rest = "";

  /** False when no word begins so. */
  begin(first: number): boolean {
    this.#rest = WORDS.find((word) => codeOf(word) === first)?.slice(1) ?? "";
    return this.#rest !== "";
  }

  get isWhole(): boolean {
    return this.#rest === "";
  }

  /** Reads to the end of the word or of `bytes`; returns where it stopped. */
  read(bytes: Uint8Array, from: number): number {
    let at = from;
    for (; at < bytes.length && !this.isWhole; at += 1) {
      if (bytes[at] !== codeOf(this.#rest)) throw new JsonSyntaxError("an unexpected character", at);
      this.#rest = this.#rest.slice(1);
    }
    return at;
  }
}

function codeOf(character: string): number {
  return character.charCodeAt(0);
}
