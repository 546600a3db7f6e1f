import fc from "fast-check";
import { describe, test } from "vitest";
import type { JsonValue } from "../../json/raw-json.ts";
import { readPythonLiteral } from "./python-literal.ts";

/** What Python's `repr` says of a value. */
function repr(value: JsonValue, asTuple = false): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return Object.is(value, -0) ? "-0.0" : String(value);
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) {
    const elements = value.map((element) => repr(element, asTuple)).join(", ");
    return asTuple ? `(${elements}${value.length === 1 ? "," : ""})` : `[${elements}]`;
  }
  const entries = Object.entries(value).map(([name, member]) => `${quoted(name)}: ${repr(member, asTuple)}`);
  return `{${entries.join(", ")}}`;
}

/** Double quotes only around a text that has single ones and no double ones; what cannot be printed is escaped. */
function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inner = Array.from(text, (character) => escaped(character, quote)).join("");
  return `${quote}${inner}${quote}`;
}

function escaped(character: string, quote: string): string {
  const known: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };
  if (character === quote) return `\\${quote}`;
  if (known[character] !== undefined) return known[character];
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20 || (code >= 0x7f && code <= 0xa0)) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code === 0x2028 || (code >= 0xd800 && code <= 0xdfff)) return `\\u${code.toString(16)}`;
  return code > 0xffff && code % 2 === 0 ? `\\U${code.toString(16).padStart(8, "0")}` : character;
}

const anyText = fc.string({
  unit: fc.constantFrom(
    "'",
    '"',
    "\\",
    "\n",
    "{",
    "a",
    "1",
    " ",
    "\u2028",
    "\0",
    "\x85",
    "é",
    "😀",
    "\ud800",
  ),
});
const { value: anyValue } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.oneof(
      anyText,
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number || 0),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie("value")),
    fc.dictionary(anyText, tie("value")).map((members) => ({ ...members })),
  ),
}));

test("whatever Python writes of a value is that value again", ({ expect }) => {
  fc.assert(
    fc.property(anyValue, fc.boolean(), (value, asTuple) => {
      expect(readPythonLiteral(repr(value, asTuple))).toEqual(value);
    }),
  );
});

test("no text at all breaks the reader", ({ expect }) => {
  const pieces = [
    "{",
    "}",
    "[",
    "(",
    ")",
    "'",
    '"',
    "\\",
    "\\x",
    "\\U",
    ",",
    ":",
    "None",
    "-",
    "1e",
    "<A.B: ",
    ">",
    " ",
  ];
  fc.assert(
    fc.property(fc.oneof(anyText, fc.string({ unit: fc.constantFrom(...pieces) })), (text) => {
      const value = readPythonLiteral(text);
      if (value !== undefined) expect(() => JSON.stringify(value)).not.toThrow();
    }),
  );
});

describe("a literal", () => {
  test.for<[string, JsonValue]>([
    ["{'a': 1, 'b': [1.5, -2, 1e-05, .5, 3.]}", { a: 1, b: [1.5, -2, 1e-5, 0.5, 3] }],
    [`{'it"s': "it's", 'b': 'it\\'s "so"'}`, { 'it"s': "it's", b: `it's "so"` }],
    ["{'x': '\\xe9\\u00e9\\U0001f600\\n'}", { x: "éé😀\n" }],
    ["( (1, 2) , () , (None,) , [] , {} )", [[1, 2], [], [null], [], {}]],
    ["{1: 'a', None: True, 'code': <HTTPStatus.BAD_REQUEST: 400>}", { 1: "a", null: true, code: 400 }],
    ["[inf, -inf, nan, b'ab', u'c']", [null, null, null, "ab", "c"]],
    ["{'__proto__': {'a': 1}}", JSON.parse(`{"__proto__": {"a": 1}}`) as JsonValue],
  ])("%s", ([text, value], { expect }) => expect(readPythonLiteral(text)).toEqual(value));

  test.for([
    "",
    "words",
    "{'a': 1} and more",
    "{'a' 1}",
    "[1 2]",
    "'open",
    "'\\x4'",
    "'\\U00110000'",
    "'a\nb'",
    "<Exception object at 0x7f>",
    "ValueError('no')",
    "[".repeat(100_000),
    `${"{".repeat(40)}'a'${": 1}".repeat(40)}`,
    "{({'a': 1},): 1}",
    "{('a', 1): 2}",
    "{1, 2}",
    "constructor",
    "__proto__",
  ])("is not %s", (text, { expect }) => expect(readPythonLiteral(text)).toBeUndefined());
});

test("a text longer than any error is not read", ({ expect }) => {
  expect(readPythonLiteral(`'${"a".repeat(65_000)}'`)).toHaveLength(65_000);
  expect(readPythonLiteral(`'${"a".repeat(65_536)}'`)).toBeUndefined();
});
