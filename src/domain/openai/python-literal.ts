/**
 * Reads the text form that Python gives its values (`repr`), as which a worker's SDK sends an error that is a dict.
 * Dicts, lists, tuples, strings, bytes, numbers, True, False, None, and members of enums as their values are
 * rewritten to JSON token by token. Sets are not supported, nor containers as keys.
 */
import type { JsonValue } from "../../json/raw-json.ts";

/** Far deeper than any error; bounds the recursion of readers. */
const DEPTH_MAX = 64;
/** Far longer than any error that a client can use. */
const LITERAL_MAX_CHARACTERS = 65_536;

const SPACE = /\s*/y;
const STRING = /[bBuU]?(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)")/y;
const NUMBER = /[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const WORD = /-?[A-Za-z]+/y;
/** `<HTTPStatus.BAD_REQUEST: 400>`: the value follows the name. */
const ENUM_NAME = /<[\w.]+: /y;
const MARK = /[{}[\](),:>]/y;

const JSON_OF_WORD: ReadonlyMap<string, string> = new Map([
  ["None", "null"],
  ["True", "true"],
  ["False", "false"],
  ["Ellipsis", "null"],
  ["inf", "null"],
  ["nan", "null"],
  ["-inf", "null"],
]);
const JSON_OF_MARK: ReadonlyMap<string, string> = new Map([
  ["(", "["],
  [")", "]"],
  [">", ""],
]);
const ESCAPE = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/g;
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

/** The value of a Python literal; undefined for other or longer text. What JSON does not know (inf, nan) is null. */
export function readPythonLiteral(source: string): JsonValue | undefined {
  if (source.length > LITERAL_MAX_CHARACTERS) return undefined;
  try {
    return JSON.parse(toJson(source)) as JsonValue;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

function toJson(source: string): string {
  const pieces: string[] = [];
  let at = 0;
  let depth = 0;
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    at += found?.[0].length ?? 0;
    return found;
  };
  while (match(SPACE) && at < source.length) {
    const piece = nextPiece(match);
    if (piece === "[" || piece === "{") depth += 1;
    if (piece === "]" || piece === "}") {
      depth -= 1;
      if (pieces.at(-1) === ",") pieces.pop();
    }
    if (depth > DEPTH_MAX) throw new SyntaxError("too deep");
    const last = pieces.at(-1);
    if (piece === ":" && last !== undefined && !last.startsWith('"'))
      pieces.splice(-1, 1, JSON.stringify(last));
    if (piece !== "") pieces.push(piece);
  }
  return pieces.join(" ");
}

/** The JSON of the next token. */
function nextPiece(match: (pattern: RegExp) => RegExpExecArray | null): string {
  const string = match(STRING);
  if (string) return JSON.stringify((string[1] ?? string[2] ?? "").replaceAll(ESCAPE, unescape));
  const number = match(NUMBER);
  if (number) return JSON.stringify(Number(number[0]));
  if (match(ENUM_NAME)) return "";
  const mark = match(MARK);
  if (mark) return JSON_OF_MARK.get(mark[0]) ?? mark[0];
  const json = JSON_OF_WORD.get(match(WORD)?.[0] ?? "");
  if (json === undefined) throw new SyntaxError("not a literal");
  return json;
}

function unescape(_: string, x?: string, u?: string, wide?: string, simple = ""): string {
  const digits = x ?? u ?? wide;
  if (digits !== undefined) return String.fromCodePoint(Number.parseInt(digits, 16));
  const character = SIMPLE_ESCAPES.get(simple);
  if (character === undefined) throw new SyntaxError("unknown escape");
  return character;
}
