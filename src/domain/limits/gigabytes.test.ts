import { test } from "vitest";
import { bytesOfVariable, inGigabytes } from "./gigabytes.ts";

test("a variable sets a size when it is one, else the default holds", ({ expect }) => {
  expect(bytesOfVariable("0.5", 10)).toBe(500_000_000);
  for (const unset of [undefined, "", "0", "-1", "much"]) {
    expect(bytesOfVariable(unset, 10)).toBe(10_000_000_000);
  }
});

test("sizes are shown in GB of a thousand millions", ({ expect }) => {
  expect(inGigabytes(1_234_567_890)).toBe("1.23");
});
