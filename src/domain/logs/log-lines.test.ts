import { test } from "vitest";
import { readPosition, splitIntoPieces, writePosition } from "./log-lines.ts";

const TEN_MINUTES = 10 * 60_000 * 1_000;
const lineAt = (seq: number) => ({ seq, source: "container", line: "" }) as const;

test("a position is parsed as it was written, and other strings are not", ({ expect }) => {
  const position = { seq: 1_800_000_000_000_001, source: "system", workerId: "worker-1_a" } as const;
  expect(readPosition(writePosition(position))).toEqual(position);
  expect(readPosition("1.else.worker")).toBeUndefined();
});

test("the lines of a piece are in order, and span ten minutes at most", ({ expect }) => {
  const seqs = [TEN_MINUTES + 7, 7, 8, TEN_MINUTES + 8];
  const pieces = [...splitIntoPieces(seqs.map(lineAt))];
  expect(pieces.map(({ first, last, lines }) => [first, last, lines.length])).toEqual([
    [7, TEN_MINUTES + 7, 3],
    [TEN_MINUTES + 8, TEN_MINUTES + 8, 1],
  ]);
});
