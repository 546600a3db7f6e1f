/**
 * Reads the text form that Python gives its values (`repr`): what a worker's SDK makes of an error that is a dict.
 * Dicts, lists, tuples, sets, texts, bytes, numbers, True, False, None, and members of enums for their values.
 */
import type { JsonValue } from "../../json/raw-json.ts";

/** Far more than any error has; keeps the recursion shallow. */
const DEPTH_MAX = 64;

/** The value of a Python literal; undefined when the text is none. What JSON does not know (inf, nan) is null. */
export function readPythonLiteral(source: string): JsonValue | undefined {
  try {
    return new LiteralReader(source).whole();
  } catch (error) {
    if (error instanceof NoLiteral) return undefined;
    throw error;
  }
}

class NoLiteral extends Error {}

const LITERALS: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ["None", null],
  ["True", true],
  ["False", false],
  ["Ellipsis", null],
  ["inf", null],
  ["nan", null],
  ["-inf", null],
]);
const WORD = /-?[A-Za-z]+/y;
const NUMBER = /[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const SPACE = /\s*/y;
const STRING_BEGIN = /(?:[bBuU])?(?=['"])/y;
/** `<HTTPStatus.BAD_REQUEST: 400>`; the value follows the name. */
const ENUM_NAME = /<[\w.]+: /y;
const PLAIN = { "'": /[^'\\\n]*/y, '"': /[^"\\\n]*/y } as const;
const SIMPLE_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\\", "\\"],
  ["'", "'"],
  ['"', '"'],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["b", "\b"],
  ["f", "\f"],
  ["v", "\v"],
  ["a", "\u0007"],
  ["0", "\0"],
]);
const HEX_LENGTH: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8],
]);
const CODE_POINT_MAX = 0x10ffff;

class LiteralReader {
  readonly #source: string;
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
  }

  whole(): JsonValue {
    const value = this.#value();
    if (this.#at < this.#source.length) throw new NoLiteral();
    return value;
  }

  /** A value, and the space around it. */
  #value(): JsonValue {
    this.#match(SPACE);
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new NoLiteral();
    const value = this.#bare();
    this.#depth -= 1;
    this.#match(SPACE);
    return value;
  }

  #bare(): JsonValue {
    switch (this.#source.charAt(this.#at)) {
      case "{":
        return this.#braces();
      case "[":
        return this.#list("]");
      case "(":
        return this.#list(")");
      case "<":
        return this.#enumMember();
      default:
        return this.#atom();
    }
  }

  #atom(): JsonValue {
    if (this.#match(STRING_BEGIN) !== undefined) return this.#quoted();
    const number = this.#match(NUMBER);
    if (number !== undefined) return finite(Number(number));
    return this.#word();
  }

  #word(): JsonValue {
    const value = LITERALS.get(this.#match(WORD) ?? "");
    if (value === undefined) throw new NoLiteral();
    return value;
  }

  #enumMember(): JsonValue {
    if (this.#match(ENUM_NAME) === undefined) throw new NoLiteral();
    const value = this.#value();
    this.#expect(">");
    return value;
  }

  // Containers

  #list(closer: string): JsonValue[] {
    this.#at += 1;
    return this.#elements(closer, []);
  }

  /** The rest of a list behind the elements that were read. */
  #elements(closer: string, elements: JsonValue[]): JsonValue[] {
    while (!this.#take(closer)) {
      if (elements.length > 0) this.#expect(",");
      if (this.#take(closer)) break;
      elements.push(this.#value());
    }
    return elements;
  }

  /** A dict, or a set, which has no colons. */
  #braces(): JsonValue {
    this.#at += 1;
    if (this.#take("}")) return {};
    const first = this.#value();
    if (!this.#take(":")) return this.#elements("}", [first]);
    const entries: [string, JsonValue][] = [[nameOf(first), this.#value()]];
    while (!this.#take("}")) {
      this.#expect(",");
      if (this.#take("}")) break;
      const key = this.#value();
      this.#expect(":");
      entries.push([nameOf(key), this.#value()]);
    }
    return Object.fromEntries(entries);
  }

  // Texts

  #quoted(): string {
    const quote = this.#source[this.#at] === "'" ? "'" : '"';
    this.#at += 1;
    let value = "";
    for (;;) {
      value += this.#match(PLAIN[quote]) ?? "";
      if (this.#take(quote, false)) return value;
      this.#expect("\\", false);
      value += this.#escaped();
    }
  }

  #escaped(): string {
    const kind = this.#source[this.#at] ?? "";
    this.#at += 1;
    const simple = SIMPLE_ESCAPES.get(kind);
    if (simple !== undefined) return simple;
    const length = HEX_LENGTH.get(kind);
    if (length === undefined) throw new NoLiteral();
    const digits = this.#source.slice(this.#at, this.#at + length);
    if (digits.length < length || !/^[\da-fA-F]+$/.test(digits)) throw new NoLiteral();
    const codePoint = Number.parseInt(digits, 16);
    if (codePoint > CODE_POINT_MAX) throw new NoLiteral();
    this.#at += length;
    return String.fromCodePoint(codePoint);
  }

  // Characters

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#source) ?? [];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #take(character: string, skipsSpace = true): boolean {
    if (skipsSpace) this.#match(SPACE);
    if (this.#source[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #expect(character: string, skipsSpace = true): void {
    if (!this.#take(character, skipsSpace)) throw new NoLiteral();
  }
}

function finite(number: number): number | null {
  return Number.isFinite(number) ? number : null;
}

/** As Python has it, no dict is a key: the text of one within another doubles its escapes with each level. */
function nameOf(key: JsonValue): string {
  if (typeof key === "string") return key;
  if (holdsObject(key)) throw new NoLiteral();
  return JSON.stringify(key);
}

function holdsObject(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(holdsObject);
  return typeof value === "object" && value !== null;
}
