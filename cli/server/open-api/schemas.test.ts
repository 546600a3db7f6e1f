import { expect, test } from "vitest";
import { isBinary, schemaOf } from "./schemas.ts";

const STRING = { type: "string" };
const NULL = { type: "null" };

test.each([
  ["int", { type: "integer" }],
  ["'str'", STRING],
  ["list[float]", { type: "array", items: { type: "number" } }],
  ["typing.List", { type: "array", items: {} }],
  [
    "dict[str, list[int]]",
    { type: "object", additionalProperties: { type: "array", items: { type: "integer" } } },
  ],
  ["dict", { type: "object" }],
  ["str | None", { anyOf: [STRING, NULL] }],
  ["Optional[str]", { anyOf: [STRING, NULL] }],
  ["Union[str, int, None]", { anyOf: [STRING, { type: "integer" }, NULL] }],
  ["Annotated[str, 'a | b']", STRING],
  ["Literal['a', \"b|c\", 3, True, None]", { enum: ["a", "b|c", 3, true, null] }],
  ["Any", {}],
  ["np.ndarray", {}],
  ["MyModel | None", {}],
  [null, {}],
])("%s", (annotation, schema) => {
  expect(schemaOf(annotation)).toEqual(schema);
});

test("bytes are a file, also when optional or repeated", () => {
  expect(["bytes", "bytes | None", "list[bytes]", "str", null].map(isBinary)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});
