import { test } from "vitest";
import { BoundedMap } from "./bounded-map.ts";

test("the oldest entries leave space for the newest", ({ expect }) => {
  const map = new BoundedMap<string>(2);
  map.set("a", "A");
  map.set("b", "B");
  map.set("a", "A again");
  map.set("c", "C");

  expect(map.get("b")).toBeUndefined();
  expect(map.get("a")).toBe("A again");
  expect(map.get("c")).toBe("C");
});

test("what weighs more takes the room of many, and what weighs too much finds none", ({ expect }) => {
  const map = new BoundedMap<string>(10, (text) => text.length);
  map.set("a", "aaaa");
  map.set("b", "bbbb");
  map.set("c", "cccccc");
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([undefined, "bbbb", "cccccc"]);

  map.set("d", "d".repeat(11));
  expect([map.get("b"), map.get("c"), map.get("d")]).toEqual([undefined, undefined, undefined]);
});

test("removed and replaced entries weigh nothing", ({ expect }) => {
  const map = new BoundedMap<string>(10, (text) => text.length);
  map.set("a", "aaaaa");
  map.set("a", "aa");
  map.set("b", "bbbb");
  map.deleteIf((text) => text.startsWith("b"));
  map.set("c", "cccccccc");

  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual(["aa", undefined, "cccccccc"]);
});
