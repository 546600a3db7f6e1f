/**
 * Reads the parts of JSON text whose content does not matter, and continues where a chunk ended. It is a table of rules,
 * because these parts are most of the bytes.
 */

export class JsonSyntaxError extends Error {
  readonly #what: string;
  #offset: number;

  constructor(what: string, offset: number) {
    super(`${what} at byte ${offset}`);
    this.name = "JsonSyntaxError";
    this.#what = what;
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  /** The text was read in chunks, and this one begins so many bytes later. */
  moveBy(bytes: number): void {
    this.#offset += bytes;
    this.message = `${this.#what} at byte ${this.#offset}`;
  }
}

/** JSON as far as it was read, with more levels of nesting than are accepted. */
export class JsonDepthError extends JsonSyntaxError {
  readonly depthMax: number;

  constructor(depthMax: number, offset: number) {
    super(`more than ${depthMax} levels of nesting`, offset);
    this.name = "JsonDepthError";
    this.depthMax = depthMax;
  }
}

/** Valid JSON so far, but a member to be cut out occurs twice in one object: which one counts is undefined. */
export class JsonRepeatError extends JsonSyntaxError {
  readonly member: string;

  constructor(member: string, offset: number) {
    super(`a second ${JSON.stringify(member)} in one object`, offset);
    this.name = "JsonRepeatError";
    this.member = member;
  }
}

/** JSON as far as it was read, with more values to cut out than are accepted. */
export class JsonCountError extends JsonSyntaxError {
  readonly countMax: number;

  constructor(countMax: number, offset: number) {
    super(`more than ${countMax} values`, offset);
    this.name = "JsonCountError";
    this.countMax = countMax;
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

// Strings

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

const STRING_STATES = 15;
const STRING_RULES: readonly Rule[] = [
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
];
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

const E_SIGNS = [codeOf("e"), codeOf("E")];

const NUMBER_STATES = 9;
const NUMBER_RULES: readonly Rule[] = [
  [AFTER_MINUS, codeOf("1"), codeOf("9"), DIGITS],
  [AFTER_MINUS, codeOf("0"), codeOf("0"), ZERO],
  [DIGITS, codeOf("0"), codeOf("9"), DIGITS],
  ...[ZERO, DIGITS].map((from): Rule => [from, codeOf("."), codeOf("."), AFTER_POINT]),
  ...[AFTER_POINT, FRACTION].map((from): Rule => [from, codeOf("0"), codeOf("9"), FRACTION]),
  ...[ZERO, DIGITS, FRACTION].flatMap((from) => E_SIGNS.map((sign): Rule => [from, sign, sign, AFTER_E])),
  ...["+", "-"].map((sign): Rule => [AFTER_E, codeOf(sign), codeOf(sign), AFTER_SIGN]),
  ...[AFTER_E, AFTER_SIGN, EXPONENT].map((from): Rule => [from, codeOf("0"), codeOf("9"), EXPONENT]),
];

const LITERALS = ["true", "false", "null"];

// Objects and lists

export const CLOSE_OBJECT = 0x7d;
export const CLOSE_LIST = 0x5d;

const VALUE = 1;
const VALUE_OR_END = 2;
const KEY = 3;
const KEY_OR_END = 4;
const COLON = 5;
/** From here on the states of the parts: two kinds of strings, which continue differently, numbers and literals. */
const IN_KEY = COLON;
const IN_STRING = IN_KEY + STRING_STATES;
const IN_NUMBER = IN_STRING + STRING_STATES;
const IN_LITERAL = IN_NUMBER + NUMBER_STATES;
const LITERAL_STATES = LITERALS.reduce((sum, literal) => sum + literal.length - 1, 0);
/** The last state; what is above it is an action: open, close, or go on behind a comma. */
const AFTER_VALUE = IN_LITERAL + LITERAL_STATES + 1;
const OPEN_OBJECT = AFTER_VALUE + 1;
const OPEN_LIST = AFTER_VALUE + 2;
const END_OBJECT = AFTER_VALUE + 3;
const END_LIST = AFTER_VALUE + 4;
const NEXT = AFTER_VALUE + 5;

const VALUES = tableOf(AFTER_VALUE + 1, [
  ...[VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, AFTER_VALUE].flatMap((state) => spaces(state, state)),
  ...[VALUE, VALUE_OR_END].flatMap((state): Rule[] => [
    [state, codeOf("{"), codeOf("{"), OPEN_OBJECT],
    [state, codeOf("["), codeOf("["), OPEN_LIST],
    [state, codeOf('"'), codeOf('"'), IN_STRING + PLAIN],
    [state, codeOf("-"), codeOf("-"), IN_NUMBER + AFTER_MINUS],
    [state, codeOf("0"), codeOf("0"), IN_NUMBER + ZERO],
    [state, codeOf("1"), codeOf("9"), IN_NUMBER + DIGITS],
  ]),
  [VALUE_OR_END, CLOSE_LIST, CLOSE_LIST, END_LIST],
  ...[KEY, KEY_OR_END].map((state): Rule => [state, codeOf('"'), codeOf('"'), IN_KEY + PLAIN]),
  [KEY_OR_END, CLOSE_OBJECT, CLOSE_OBJECT, END_OBJECT],
  [COLON, codeOf(":"), codeOf(":"), VALUE],
  ...afterValue(AFTER_VALUE),
  ...moved(STRING_RULES, IN_KEY, COLON),
  ...moved(STRING_RULES, IN_STRING, AFTER_VALUE),
  ...moved(NUMBER_RULES, IN_NUMBER),
  ...[ZERO, DIGITS, FRACTION, EXPONENT].flatMap((state) => afterValue(IN_NUMBER + state)),
  ...literalRules(),
]);

function spaces(from: number, to: number): Rule[] {
  return [0x20, 0x0a, 0x0d, 0x09].map((space) => [from, space, space, to]);
}

function afterValue(state: number): Rule[] {
  return [
    ...spaces(state, AFTER_VALUE),
    [state, codeOf(","), codeOf(","), NEXT],
    [state, CLOSE_OBJECT, CLOSE_OBJECT, END_OBJECT],
    [state, CLOSE_LIST, CLOSE_LIST, END_LIST],
  ];
}

/** Rules whose states are others here; `closed` is where the end of a text leads. */
function moved(rules: readonly Rule[], by: number, closed?: number): Rule[] {
  return rules.map(([from, low, high, to]) => [
    from + by,
    low,
    high,
    to === CLOSED && closed !== undefined ? closed : to + by,
  ]);
}

function literalRules(): Rule[] {
  let state = IN_LITERAL;
  return LITERALS.flatMap((literal) =>
    literal.split("").flatMap((sign, index): Rule[] => {
      const code = codeOf(sign);
      if (index === 0) {
        state += 1;
        return [VALUE, VALUE_OR_END].map((from): Rule => [from, code, code, state]);
      }
      const from = state;
      if (index < literal.length - 1) state += 1;
      return [[from, code, code, index < literal.length - 1 ? state : AFTER_VALUE]];
    }),
  );
}

/** A value, with all that is in it. */
export class ValueReader {
  readonly #depthMax: number;
  #state = VALUE;
  /** The bytes that close the open containers, the outermost first. */
  #closers = new Uint8Array(16);
  #depth = 0;
  /** Containers around the value. */
  #outside = 0;

  /** A value and the containers around it that count may nest `depthMax` levels deep. */
  constructor(depthMax: number) {
    this.#depthMax = depthMax;
  }

  /** A value begins with the byte `first` at `at`, inside so many containers. */
  begin(first: number, at: number, outside: number): void {
    this.#outside = outside;
    this.#depth = outside;
    const next = nextOf(VALUE, first, at);
    this.#state = next <= AFTER_VALUE ? next : this.#act(next, at);
  }

  /** More of it is to come, or may come: a number has no end mark. */
  get isOpen(): boolean {
    return this.#depth > this.#outside || this.#state !== AFTER_VALUE;
  }

  /** What was read is a number, if no more of it comes. */
  get isWholeNumber(): boolean {
    const isWhole = this.#state > IN_NUMBER && this.#state <= IN_NUMBER + EXPONENT;
    return isWhole && this.#depth === this.#outside;
  }

  /** Reads to behind its last byte, or to the end of `bytes`; returns where it stopped. */
  read(bytes: Uint8Array, from: number): number {
    let state = this.#state;
    let at = from;
    for (; at < bytes.length; at += 1) {
      const next = nextOf(state, bytes[at] ?? 0, at);
      const before = state;
      state = next;
      if (next < AFTER_VALUE) continue;
      if (this.#depth > this.#outside) {
        if (next > AFTER_VALUE) state = this.#act(next, at);
        if (this.#depth > this.#outside) continue;
      } else if (isInNumber(before)) {
        state = AFTER_VALUE; // the byte behind a number is not part of it
        break;
      }
      at += 1;
      break;
    }
    this.#state = state;
    return at;
  }

  #act(action: number, at: number): number {
    switch (action) {
      case OPEN_OBJECT:
        return this.#open(CLOSE_OBJECT, KEY_OR_END, at);
      case OPEN_LIST:
        return this.#open(CLOSE_LIST, VALUE_OR_END, at);
      case END_OBJECT:
        return this.#close(CLOSE_OBJECT, at);
      case END_LIST:
        return this.#close(CLOSE_LIST, at);
      default:
        return this.#closers[this.#depth - 1] === CLOSE_OBJECT ? KEY : VALUE;
    }
  }

  #open(closer: number, state: number, at: number): number {
    if (this.#depth >= this.#depthMax) throw new JsonDepthError(this.#depthMax, at);
    if (this.#depth >= this.#closers.length) this.#closers = doubled(this.#closers);
    this.#closers[this.#depth] = closer;
    this.#depth += 1;
    return state;
  }

  #close(closer: number, at: number): number {
    if (this.#closers[this.#depth - 1] !== closer) throw unexpected(at);
    this.#depth -= 1;
    return AFTER_VALUE;
  }
}

function isInNumber(state: number): boolean {
  return state > IN_NUMBER && state < IN_LITERAL;
}

function nextOf(state: number, byte: number, at: number): number {
  const next = VALUES[state * 256 + byte] ?? NOWHERE;
  if (next === NOWHERE) throw new JsonSyntaxError(whatIsWrongInside(state, byte), at);
  return next;
}

function whatIsWrongInside(state: number, byte: number): string {
  if (state <= IN_KEY || state > IN_NUMBER) return UNEXPECTED;
  return whatIsWrong(state > IN_STRING ? state - IN_STRING : state - IN_KEY, byte);
}

const UNEXPECTED = "an unexpected character";

export function unexpected(at: number): JsonSyntaxError {
  return new JsonSyntaxError(UNEXPECTED, at);
}

function doubled(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(bytes.length * 2);
  larger.set(bytes);
  return larger;
}

function codeOf(character: string): number {
  return character.charCodeAt(0);
}
