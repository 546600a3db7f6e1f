import fc from "fast-check";
import { describe, test } from "vitest";
import { EACH, type JsonPath } from "./json-carver.ts";
import { cutJson, cutsAt, elementsOf, hasMoreValues, isJson, type RawJson } from "./raw-json.ts";
import { JsonCountError, JsonSyntaxError } from "./json-tokens.ts";

const encoder = new TextEncoder();
const cut = (json: string, path: JsonPath) => cutJson(encoder.encode(json), cutsAt(path));

describe("a value that is cut out", () => {
  test("is in its place as the text that was sent", ({ expect }) => {
    const sent = '{"seed":18446744073709551615,"cfg":7.0,"x":1e400,"z":-0,"s":"\\ud800\\/é"}';
    const body = cut(`{"held":[{"progress":${sent}},{}],"n":7.0}`, ["held", EACH, "progress"]);
    expect(body).toMatchObject({
      held: [{ progress: { json: sent, sizeBytes: sent.length + 1 } }, {}],
      n: 7,
    });
  });

  test("is found in random values, however many there are", ({ expect }) => {
    const list = fc.array(fc.record({ out: fc.jsonValue(), other: fc.jsonValue() }, { requiredKeys: [] }));
    fc.assert(
      fc.property(list, (elements) => {
        const read = cut(JSON.stringify(elements), [EACH, "out"]) as { out?: RawJson }[];
        const meant = read.map(({ out, ...rest }) => ({
          ...rest,
          ...(out && { out: JSON.parse(out.json) as unknown }),
        }));
        expect(JSON.parse(JSON.stringify(meant))).toEqual(JSON.parse(JSON.stringify(elements)));
      }),
    );
  });

  test("occurs once", ({ expect }) => {
    expect(() => cut('{"a":1,"a":2}', ["a"])).toThrow(JsonSyntaxError);
    expect(cut('{"b":1,"b":2}', ["a"])).toEqual({ b: 2 });
  });

  test("is one of so many at most", ({ expect }) => {
    const list = encoder.encode(`[${Array(11).fill(0).join()}]`);
    expect(() => cutJson(list, cutsAt([EACH]), { carvedMax: 10 })).toThrow(JsonCountError);
    expect(cutJson(list, cutsAt([EACH]), { carvedMax: 11 })).toHaveLength(11);
  });

  test("is no prototype", ({ expect }) => {
    const body = cut('{"__proto__":{"a":1},"a":2}', ["a"]) as object;
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
    expect(body).toMatchObject({ a: { json: "2" } });
  });
});

test("elements of a list are separate texts", ({ expect }) => {
  const elements = (json: string) => [...elementsOf(json)];
  expect(elements(' [ 1.0 , "[,]" ,{"a" : 2},[] ] ')).toEqual(["1.0", '"[,]"', '{"a" : 2}', "[]"]);
  expect(elements(" [ ] ")).toEqual([]);
  expect(() => elements('{"a":1}')).toThrow(JsonSyntaxError);
  expect(() => elements("[1,]")).toThrow(JsonSyntaxError);
});

test("elements are whole wherever the list is sliced to be read", ({ expect }) => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary", maxLength: 9 })), fc.nat(9), (texts, shift) => {
      const long = ["x".repeat(65_530 + shift), ...texts, "😀".repeat(40_000), ...texts];
      const elements = long.map((text) => JSON.stringify(text));
      expect([...elementsOf(`[${elements.join(",")}]`)]).toEqual(elements);
    }),
    { numRuns: 20 },
  );
});

test("a list is read only as far as its elements are wanted, and not beyond so many", ({ expect }) => {
  const ones = `[${"1,".repeat(2_000_000)}`;
  expect(elementsOf(ones).next().value).toBe("1");
  expect(() => [...elementsOf(ones)]).toThrow(JsonCountError);
});

test("values are counted as they would be parsed", ({ expect }) => {
  const values = (value: unknown): number =>
    typeof value === "object" && value !== null
      ? Math.max(1, 1 + Object.values(value).reduce((sum: number, one) => sum + values(one), 0))
      : 1;
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), (json) => {
      const count = values(JSON.parse(json));
      expect(hasMoreValues(json, 2 * count)).toBe(false);
      expect(hasMoreValues(json, Math.floor(count / 2) - 1)).toBe(true);
    }),
  );
});

test("what is left beside the texts is parsed only when it has few values", ({ expect }) => {
  expect(() => cut(`{"a":1.0,"zz":[${"{},".repeat(3_000_000)}{}]}`, ["a"])).toThrow(JsonCountError);
  const error = JSON.stringify('[{"traceback":'.repeat(200_000));
  expect(cut(`{"a":1.0,"error":${error}}`, ["a"])).toHaveProperty("error");
});

test("a text is JSON or not, however large it is", ({ expect }) => {
  expect(isJson(`[${"1,".repeat(1_000_000)}1]`)).toBe(true);
  for (const text of ["", "x", "[1,]", '{"a"}', "1 2"]) expect(isJson(text)).toBe(false);
});
