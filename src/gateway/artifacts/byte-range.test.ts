import { test } from "vitest";
import { readRange } from "./byte-range.ts";

const part = (from: number, length: number) => ({ kind: "part", from, length });

test.for([
  ["bytes=0-", part(0, 10)],
  ["bytes=3-", part(3, 7)],
  ["bytes=3-5", part(3, 3)],
  ["bytes=3-99", part(3, 7)],
  ["bytes=-4", part(6, 4)],
  ["bytes=-99", part(0, 10)],
] as const)("'%s' of ten bytes is a part", ([header, range], { expect }) => {
  expect(readRange(header, 10)).toEqual(range);
});

test.for(["bytes=10-", "bytes=10-12", "bytes=-0"])("'%s' of ten bytes is nothing", (header, { expect }) => {
  expect(readRange(header, 10)).toEqual({ kind: "unsatisfiable" });
});

test.for([undefined, "", "bytes=-", "bytes=5-3", "bytes=0-1,4-5", "lines=1-2", "bytes=x-"])(
  "'%s' asks for the whole",
  (header, { expect }) => {
    expect(readRange(header, 10)).toEqual({ kind: "whole" });
  },
);
