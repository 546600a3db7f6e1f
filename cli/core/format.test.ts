import { expect, test } from "vitest";
import { ago } from "./format.ts";

const NOW = Date.parse("2026-03-10T12:00:00Z");

test.each([
  ["2026-03-10T12:00:10Z", "just now"],
  ["2026-03-10T11:59:30Z", "just now"],
  ["2026-03-10T11:59:00Z", "1 minute ago"],
  ["2026-03-10T10:30:00Z", "1 hour ago"],
  ["2026-03-01T12:00:00Z", "9 days ago"],
  ["yesterday", "yesterday"],
])("%s is %s", (time, expected) => {
  expect(ago(time, NOW)).toBe(expected);
});
