import fc from "fast-check";
import { describe, test } from "vitest";
import { EACH, type JsonPath } from "./json-carver.ts";
import { cutJson, cutsAt, elementsOf, type JsonText } from "./json-text.ts";
import { JsonCountError, JsonSyntaxError } from "./json-tokens.ts";

const encoder = new TextEncoder();
const cut = (json: string, path: JsonPath) => cutJson(encoder.encode(json), cutsAt(path));

describe("a value that is cut out", () => {
  test("stands in its place as the text that was sent", ({ expect }) => {
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
        const read = cut(JSON.stringify(elements), [EACH, "out"]) as { out?: JsonText }[];
        const meant = read.map(({ out, ...rest }) => ({
          ...rest,
          ...(out && { out: JSON.parse(out.json) as unknown }),
        }));
        expect(JSON.parse(JSON.stringify(meant))).toEqual(JSON.parse(JSON.stringify(elements)));
      }),
    );
  });

  test("stands there once", ({ expect }) => {
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

test("elements of a list are texts of their own", ({ expect }) => {
  expect(elementsOf(' [ 1.0 , "[,]" ,{"a" : 2},[] ] ')).toEqual(["1.0", '"[,]"', '{"a" : 2}', "[]"]);
  expect(elementsOf("[]")).toEqual([]);
});
