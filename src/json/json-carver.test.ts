import fc from "fast-check";
import { describe, test } from "vitest";
import { EACH, JsonCarver, pathTree, type JsonPath, JSON_DEPTH_MAX } from "./json-carver.ts";
import { JsonRepeatError, JsonSyntaxError } from "./json-tokens.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

type Carved = { readonly rest: string; readonly carved: readonly string[] };

/** Reads `bytes` in chunks that end at the given places; "refused" when it is no JSON. */
function carve(path: JsonPath, bytes: Uint8Array, cuts: readonly number[] = []): Carved | "refused" {
  const carver = new JsonCarver(pathTree([path]));
  const parts: number[][] = [];
  const rest: number[] = [];
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  let from = 0;
  try {
    for (const end of [...ends, bytes.length]) {
      const chunk = bytes.subarray(from, end);
      for (const piece of carver.scan(chunk)) {
        if (piece.carved !== null && piece.isFirst) rest.push(...encoder.encode(`${piece.carved}`));
        const target = piece.carved === null ? rest : (parts[piece.carved] ??= []);
        target.push(...chunk.subarray(piece.from, piece.to));
      }
      from = end;
    }
    carver.end();
  } catch (error) {
    if (error instanceof JsonSyntaxError) return "refused";
    throw error;
  }
  return { rest: textOf(rest), carved: parts.map(textOf) };
}

function textOf(bytes: readonly number[]): string {
  return decoder.decode(Uint8Array.from(bytes));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const cuts = fc.array(fc.nat(2_000), { maxLength: 20 });
const value = fc.jsonValue({ maxDepth: 5, stringUnit: "binary" });
const indent = fc.constantFrom(undefined, 1, "\t", " \n");
/** Text that is nearly JSON: pieces of it in any order. */
const nearlyJson = fc
  .array(
    fc.constantFrom(
      ...'{}[],:" \n'.split(""),
      ...'0 1 -1 .5 1e5 1E+ 2.0 01 - true fals null "" "a" "\\u00e9" "\\u12" "\\x" "é" \t'.split(" "),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(""));

describe("text", () => {
  test("that JSON.parse reads passes unchanged, however it is cut", () => {
    fc.assert(
      fc.property(value, indent, cuts, (json, space, places) => {
        const text = JSON.stringify(json, null, space);
        const result = carve([], encoder.encode(` ${text}\n`), places);
        return result !== "refused" && result.carved[0] === text && result.rest === " 0\n";
      }),
    );
  });

  test("is refused exactly when JSON.parse refuses it", () => {
    fc.assert(
      fc.property(nearlyJson, cuts, (text, places) => {
        return (carve([], encoder.encode(text), places) !== "refused") === isJson(text);
      }),
      { numRuns: 5_000 },
    );
  });

  test("with one byte changed is refused exactly when JSON.parse refuses it", () => {
    fc.assert(
      fc.property(value, fc.nat(), fc.integer({ min: 0, max: 127 }), cuts, (json, place, byte, places) => {
        const bytes = encoder.encode(JSON.stringify(json));
        const at = place % bytes.length;
        if ((bytes[at] ?? 0) >= 0x80) return true; // the next test is about these
        bytes[at] = byte;
        const isValid = isJson(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
        return (carve([], bytes, places) !== "refused") === isValid;
      }),
      { numRuns: 2_000 },
    );
  });

  test("in a string is refused exactly when it is no UTF-8", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ min: 0x80, max: 0xff, minLength: 1, maxLength: 6 }),
      fc.string({ unit: "binary" }).map((text) => encoder.encode(text.replaceAll(/["\\\p{Cc}]/gu, ""))),
    );
    fc.assert(
      fc.property(bytes, cuts, (inner, places) => {
        const quoted = Uint8Array.from([0x22, ...inner, 0x22]);
        let isUtf8 = true;
        try {
          decoder.decode(quoted);
        } catch {
          isUtf8 = false;
        }
        return (carve([], quoted, places) !== "refused") === isUtf8;
      }),
      { numRuns: 5_000 },
    );
  });

  test("may be nested deeply, but not without end", ({ expect }) => {
    const nested = (depth: number) => encoder.encode("[".repeat(depth) + "]".repeat(depth));
    expect(carve([], nested(JSON_DEPTH_MAX))).not.toBe("refused");
    expect(carve([], nested(JSON_DEPTH_MAX + 1))).toBe("refused");
  });

  test("that is wrong is refused with what is wrong, and where", ({ expect }) => {
    const carver = new JsonCarver(pathTree([[]]));
    carver.scan(encoder.encode('{"a":'));
    expect(() => carver.scan(encoder.encode(" }"))).toThrow(/\b6$/);
    const cut = new JsonCarver(pathTree([[]]));
    cut.scan(encoder.encode("[1,"));
    expect(() => cut.end()).toThrow(/\b3$/);
  });
});

describe("a carved member", () => {
  const others = fc.dictionary(fc.string(), value);

  test("is its own text, and the rest is what was around it", () => {
    fc.assert(
      fc.property(others, others, value, indent, cuts, (before, after, input, space, places) => {
        delete before["input"];
        delete after["input"];
        const body = { ...before, input, ...after };
        const result = carve(["input"], encoder.encode(JSON.stringify(body, null, space)), places);
        if (result === "refused" || result.carved.length !== 1) return false;
        const [carved = ""] = result.carved;
        return (
          JSON.stringify(JSON.parse(carved)) === JSON.stringify(input) &&
          JSON.stringify(JSON.parse(result.rest)) === JSON.stringify({ ...body, input: 0 })
        );
      }),
    );
  });

  test("is found by what its name means, and only where the path leads", ({ expect }) => {
    const carved = (text: string) => carve(["input"], encoder.encode(text));
    expect(carved('{"in\\u0070ut":1}')).toEqual({ rest: '{"in\\u0070ut":0}', carved: ["1"] });
    expect(carved('{"a":{"input":1},"b":[{"input":2}]}')).toMatchObject({ carved: [] });
    expect(carved('[{"input":1}]')).toMatchObject({ carved: [] });
    expect(carved('"input"')).toMatchObject({ carved: [] });
    expect(carved(`{"${"x".repeat(300)}":1,"input":2}`)).toMatchObject({ carved: ["2"] });
  });

  test("occurs once in its object, and so does what leads to it", ({ expect }) => {
    const read = (text: string) => () =>
      new JsonCarver(pathTree([["a", "b"], ["c"]])).scan(encoder.encode(text));
    expect(read('{"a":{"b":1,"x":2,"b":3}}')).toThrow(new JsonRepeatError("b", 19));
    expect(read('{"a":{"b":1},"a":{}}')).toThrow(new JsonRepeatError("a", 14));
    expect(read('{"c":1,"\\u0063":2}')).toThrow(new JsonRepeatError("c", 8));
    expect(read('{"x":1,"x":2,"a":{"c":1,"c":2}}')).not.toThrow();
    const each = () => carve(["jobs", EACH, "input"], encoder.encode('{"jobs":[{"input":1},{"input":2}]}'));
    expect(each()).toMatchObject({ carved: ["1", "2"] });
  });

  test("is found in each element of a list", ({ expect }) => {
    const text = '{"stops":[{"input":0}],"jobs":[{"id":"a","input":{"x":[1]}},{"input":"é"},{}]}';
    expect(carve(["jobs", EACH, "input"], encoder.encode(text), [30, 43, 50])).toEqual({
      rest: '{"stops":[{"input":0}],"jobs":[{"id":"a","input":0},{"input":1},{}]}',
      carved: ['{"x":[1]}', '"é"'],
    });
  });

  test("may nest as deeply as any other, wherever it is", ({ expect }) => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    const body = (depth: number) => encoder.encode(`{"jobs":[{"input":${nested(depth)}}]}`);
    expect(carve(["jobs", EACH, "input"], body(JSON_DEPTH_MAX))).not.toBe("refused");
    expect(carve(["jobs", EACH, "input"], body(JSON_DEPTH_MAX + 1))).toBe("refused");
  });
});

test("values at several paths are carved, each under the index of its path", ({ expect }) => {
  const paths = pathTree([["a"], ["list", EACH, "x"], ["list", EACH, "y", EACH]]);
  const bytes = encoder.encode('{"list":[{"y":[1.0,[2]],"x":{"a":3}},{"z":[4]},5],"b":{"a":6},"a":"7"}');
  const pieces = new JsonCarver(paths).scan(bytes);
  const carved = pieces.filter((piece) => piece.carved !== null);
  expect(carved.map(({ path, from, to }) => [path, decoder.decode(bytes.subarray(from, to))])).toEqual([
    [2, "1.0"],
    [2, "[2]"],
    [1, '{"a":3}'],
    [0, '"7"'],
  ]);
});
