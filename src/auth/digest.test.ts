import { test } from "vitest";
import { hashKey } from "./digest.ts";

test("a key's hash is its SHA-256 in hex", async ({ expect }) => {
  expect(await hashKey("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});
