import { test } from "vitest";
import type { JsonValue } from "../../json/raw-json.ts";
import { JsonCountError } from "../../json/json-tokens.ts";
import { answerOf } from "./openai-answer.ts";

const ANSWER = { id: "1", choices: [] };

test.for<[what: string, output: JsonValue | undefined, answer: JsonValue | undefined]>([
  ["the one element of a stream", [ANSWER], ANSWER],
  ["what was returned", ANSWER, ANSWER],
  ["JSON text", [JSON.stringify(ANSWER)], ANSWER],
  ["lines of JSON text", JSON.stringify(ANSWER, null, 2).split("\n"), ANSWER],
  ["the first of a batch", [[ANSWER, 1]], ANSWER],
  ["words", ["some", "words"], "some\nwords"],
  ["nothing", [], undefined],
  ["null", null, undefined],
  ["an empty text", [""], undefined],
  ["no output", undefined, undefined],
])("an answer is found in %s", ([, output, answer], { expect }) => {
  const json = answerOf(output === undefined ? undefined : JSON.stringify(output));
  expect(json && JSON.parse(json)).toEqual(answer);
});

test("a list is read no further than its answer", ({ expect }) => {
  expect(answerOf(`[7${",1".repeat(5_000_000)}]`)).toBe("7");
  expect(answerOf(`["a"${",1".repeat(5_000_000)}]`)).toBe('"a"');
  expect(answerOf(`[[[7${",1".repeat(1_000_000)}]]]`)).toBe("7");
  expect(() => answerOf(`["a"${',"b"'.repeat(100_000)}]`)).toThrow(JsonCountError);
});
