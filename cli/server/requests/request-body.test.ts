import fc from "fast-check";
import { expect, test } from "vitest";
import { membersOf } from "../../../src/json/json-members.ts";
import { randomJson, seededRandom } from "../../../test/support/json-texts.ts";
import { RequestError } from "./responses.ts";
import { jobBody, readJob } from "./request-body.ts";
import { JSON_DEPTH_MAX } from "../../../src/json/json-carver.ts";

function outcomeOf(body: Buffer): string {
  try {
    readJob(body);
    return "read";
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const { status, detail } = error;
    return typeof detail === "string" ? `${status}` : `${status} ${detail.map(({ type }) => type).join(" ")}`;
  }
}

const nested = (levels: number): Buffer =>
  Buffer.from(`{"input":${"[".repeat(levels)}${"]".repeat(levels)}}`);

test("the input is the JSON that was sent, whatever surrounds it", () => {
  const property = fc.property(fc.integer(), fc.nat(5_000), (seed, sizeBytes) => {
    const random = seededRandom(seed);
    const input = randomJson(random, sizeBytes);
    const beside = randomJson(random, 300);
    const job = readJob(Buffer.from(` { "a":${beside},\n"inp\\u0075t" : ${input} ,"a"\t:${beside}}`));
    expect(job).toEqual({ input, options: `{"a":${beside},"a"\t:${beside}}` });
    expect(readJob(Buffer.from(jobBody(job)))).toEqual(job);
  });
  fc.assert(property);
});

test("members are cut unchanged, and repeated ones stay", () => {
  const text = '{ "a\\u0022": "}\\\\" , "b":[{"c":"]"}],"b" : -0.0e+5,"__proto__":{}}';
  expect(membersOf(text)).toEqual([
    { name: 'a"', value: '"}\\\\"', source: '"a\\u0022": "}\\\\"' },
    { name: "b", value: '[{"c":"]"}]', source: '"b":[{"c":"]"}]' },
    { name: "b", value: "-0.0e+5", source: '"b" : -0.0e+5' },
    { name: "__proto__", value: "{}", source: '"__proto__":{}' },
  ]);
  for (const other of ["[1]", '"{}"', "1", "null"]) expect(membersOf(other)).toBeUndefined();
});

test("a body that is not a job is rejected with the reason", () => {
  expect(readJob(undefined)).toEqual({ input: undefined, options: "{}" });
  expect(readJob(Buffer.from(" \n"))).toEqual({ input: undefined, options: "{}" });
  expect(readJob(Buffer.from('\uFEFF{"input":1}'))).toEqual({ input: "1", options: "{}" });
  expect(outcomeOf(Buffer.from("{"))).toBe("422 json_invalid");
  expect(outcomeOf(Buffer.from('{"input":NaN}'))).toBe("422 json_invalid");
  expect(outcomeOf(Buffer.from([0x22, 0xff, 0x22]))).toBe("422 json_invalid");
  expect(outcomeOf(Buffer.from("[1]"))).toBe("422 dict_type");
  expect(outcomeOf(Buffer.from('{"input":1,"input":1}'))).toBe("422 duplicate");
});

test("bodies of any size have the nesting limit of the service", () => {
  expect(outcomeOf(nested(JSON_DEPTH_MAX))).toBe("read");
  expect(outcomeOf(nested(JSON_DEPTH_MAX + 1))).toBe("400");
  expect(outcomeOf(nested(1_000_000))).toBe("400");
});
