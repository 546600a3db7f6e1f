import fc from "fast-check";
import { describe, test } from "vitest";
import { OpenaiFrames } from "./openai-frames.ts";

const DONE = "data: [DONE]\n\n";
const ERROR = { error: { message: "no", type: "t", param: null, code: null } };

function encoded(chunks: readonly unknown[]): { text: string; frames: OpenaiFrames } {
  const frames = new OpenaiFrames();
  return { text: chunks.map((chunk) => frames.encode(JSON.stringify(chunk))).join(""), frames };
}

/** The text cut at any places. */
const cutText = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.array(fc.nat())).map(([whole, cuts]) => {
    const places = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].toSorted((a, b) => a - b);
    return [...places, whole.length].map((place, index) => whole.slice(places[index - 1] ?? 0, place));
  });
const anyEvents = fc
  .array(fc.constantFrom("data: {}\n\n", "data: [DONE] \n\n", ": beat\n\n", `data: {"a":"[DONE]"}\r\n\r\n`))
  .map((events) => events.join(""));

describe("text", () => {
  test("passes as it is, wherever it is cut", ({ expect }) => {
    fc.assert(
      fc.property(
        cutText(fc.string({ unit: fc.constantFrom("a", "\n", "data: ", "é", "😀", "\ud800", "{") })),
        (pieces) => {
          expect(encoded(pieces).text).toBe(pieces.join(""));
        },
      ),
    );
  });

  test("gets an end exactly when it has data and no end, wherever it is cut", ({ expect }) => {
    fc.assert(
      fc.property(cutText(anyEvents), (pieces) => {
        const { text, frames } = encoded(pieces);
        const hasEnd = /(^|\n)data: \[DONE\]\s*$/.test(text);
        expect(frames.end()).toBe(hasEnd || !/^data:/m.test(text) ? "" : DONE);
      }),
    );
  });

  test("of named events gets none, wherever it is cut", ({ expect }) => {
    fc.assert(
      fc.property(cutText(fc.constant("event: a\ndata: {}\n\nevent: b\ndata: {}\n\n")), (pieces) => {
        expect(encoded(pieces).frames.end()).toBe("");
      }),
    );
  });
});

test("values are events of their own, also among text", ({ expect }) => {
  const { text, frames } = encoded([
    { a: 1 },
    [{ b: 2 }, [null, 3]],
    "data: {}",
    { c: 4 },
    "data: 5\n",
    { d: 6 },
  ]);
  const events = ['{"a":1}', '{"b":2}', "3", "{}", '{"c":4}', "5", '{"d":6}'];
  expect(text).toBe(events.map((event) => `data: ${event}\n\n`).join(""));
  expect(frames.end()).toBe(DONE);
});

test("an error is a separate event, wherever the stream broke off", ({ expect }) => {
  const event = `data: ${JSON.stringify(ERROR)}\n\n`;
  for (const [before, gap] of [
    ["", ""],
    ["data: {}\n\n", ""],
    ["data: {}\n", "\n"],
    ["data: {", "\n\n"],
  ] as const) {
    expect(encoded([before]).frames.fail(ERROR)).toBe(gap + event);
  }
});
