import { test } from "vitest";
import { randomId } from "./random-id.ts";

test("every symbol is as likely as the others", ({ expect }) => {
  const counts = new Map<string, number>();
  let next = 0;
  const everyByteInTurn = (count: number) => Array.from({ length: count }, () => next++ % 256);
  // 18 ids take each of the 252 bytes that count once; the bytes that do not are passed over.
  for (let made = 0; made < 18; made += 1) {
    next = made * 14;
    for (const symbol of randomId(everyByteInTurn)) counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
  }
  expect(counts.size).toBe(36);
  expect(new Set(counts.values())).toEqual(new Set([7]));
});

test("bytes that would make a symbol likelier are passed over", ({ expect }) => {
  const bytes = [
    [252, 253, 254, 255, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
  ];
  expect(randomId(() => bytes.shift() ?? [])).toBe("aaaaaaaaaaaaab");
});
