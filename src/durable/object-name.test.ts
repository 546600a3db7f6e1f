import { test } from "vitest";
import { shardName } from "./object-name.ts";

test("a shard's name is the endpoint id and the shard's number", ({ expect }) => {
  expect(shardName("abc123", 0)).toBe("abc123#0");
  expect(shardName("abc123", 7)).toBe("abc123#7");
});
