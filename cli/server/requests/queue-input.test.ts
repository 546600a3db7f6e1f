import type { JobJson } from "./served-app.ts";
import { expect, test } from "vitest";
import type {
  ManifestFunction,
  ManifestParameter,
  ManifestResource,
} from "../../../src/contract/flash/flash-manifest.ts";
import { RequestError } from "./responses.ts";
import { readJob } from "./request-body.ts";
import { checkedJob } from "./queue-input.ts";

function parameter(name: string, more: Partial<ManifestParameter> = {}): ManifestParameter {
  return { name, kind: "positional", annotation: null, isRequired: true, ...more };
}

function resource(...functions: readonly ManifestFunction[]): ManifestResource {
  return { is_load_balanced: false, functions: [...functions] };
}

const declared = (...parameters: ManifestParameter[]) => resource({ name: "f", module: "m", parameters });
const ofClass = (methods: Readonly<Record<string, ManifestParameter[]>>) =>
  resource({
    name: "Model",
    module: "m",
    is_class: true,
    class_methods: Object.keys(methods),
    parameters: Object.keys(methods).length === 1 ? Object.values(methods).flat() : [],
    method_parameters: methods,
  });

function jobOf(body: unknown): JobJson {
  return readJob(body === undefined ? undefined : Buffer.from(JSON.stringify(body)));
}

/** Places and kinds of what is wrong, or nothing. */
function problems(of: ManifestResource, body: unknown): readonly string[] {
  try {
    checkedJob(of, jobOf(body));
    return [];
  } catch (error) {
    if (!(error instanceof RequestError) || typeof error.detail === "string") throw error;
    return error.detail.map(({ loc, type }) => `${loc.join(".")} ${type}`);
  }
}

test.each<[string, ManifestResource, unknown, readonly string[]]>([
  ["required and optional", declared(parameter("a"), parameter("b", { isRequired: false })), { a: 1 }, []],
  ["one missing, one unknown", declared(parameter("a")), { b: 1 }, ["a missing", "b extra_forbidden"]],
  ["any name", declared(parameter("rest", { kind: "var_keyword", isRequired: false })), { x: 1 }, []],
  [
    "*args has no name",
    declared(parameter("rest", { kind: "var_positional", isRequired: false })),
    { rest: 1 },
    ["rest extra_forbidden"],
  ],
  ["nothing is known of an image of one's own", resource(), { x: 1 }, []],
  ["nothing is known of the parameters", resource({ name: "f", module: "m" }), { x: 1 }, []],
  ["names of Object are names like others", declared(parameter("toString")), {}, ["toString missing"]],
  ["a class with one method", ofClass({ run: [parameter("a")] }), { a: 1 }, []],
  ["its one method by name", ofClass({ run: [parameter("a")] }), { method: "run", a: 1 }, []],
  ["another one", ofClass({ run: [] }), { method: "stop" }, ["method extra_forbidden"]],
  ["an argument called method", ofClass({ run: [parameter("method")] }), { method: "run" }, []],
  ["no method of several", ofClass({ run: [], stop: [] }), {}, ["method missing"]],
  ["an unknown one", ofClass({ run: [], stop: [] }), { method: "sleep" }, ["method enum"]],
  [
    "arguments of the named method",
    ofClass({ run: [parameter("a")], stop: [parameter("b")] }),
    { method: "stop", a: 1 },
    ["b missing", "a extra_forbidden"],
  ],
])("%s", (_, of, input, expected) => {
  expect(problems(of, { input })).toEqual(expected.map((one) => `body.input.${one}`));
});

test("body and input must be objects", () => {
  const one = declared(parameter("a"));
  expect(problems(one, [])).toEqual(["body dict_type"]);
  expect(problems(one, { input: "text" })).toEqual(["body.input dict_type"]);
  expect(problems(one, undefined)).toEqual(["body.input missing"]);
  expect(problems(one, { a: 1 })).toEqual(["body.input missing"]);
});
