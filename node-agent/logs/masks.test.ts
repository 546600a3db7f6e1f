import { test } from "vitest";
import { Masks } from "./masks.ts";

test("values are masked wherever they stand, also those of before", ({ expect }) => {
  const masks = new Masks();
  masks.add(["old-password"]);
  masks.add(["new-password"]);
  expect(masks.apply("a new-password, old-password, new-password")).toBe("a [secret], [secret], [secret]");
});

test("short values are left, and a value within a longer one shows nothing of it", ({ expect }) => {
  const masks = new Masks();
  masks.add(["1234567", "password", "password-and-more"]);
  expect(masks.apply("1234567 password-and-more")).toBe("1234567 [secret]");
});

test("of a value with several lines each line is masked", ({ expect }) => {
  const masks = new Masks();
  masks.add(["-----BEGIN KEY-----\nMIIBVgIBADANBgkq\n-----END KEY-----"]);
  expect(masks.apply("MIIBVgIBADANBgkq")).toBe("[secret]");
});
