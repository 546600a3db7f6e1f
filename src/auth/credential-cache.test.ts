import { test } from "vitest";
import { CredentialCache } from "./credential-cache.ts";

const freshCache = (size = 10) =>
  new CredentialCache<string>({ acceptedTtlMs: 1_000, rejectedTtlMs: 100, size });

test("an accepted credential is remembered for its life and no longer", ({ expect }) => {
  const cache = freshCache();
  cache.accept("key", "account", 0);

  expect(cache.recall("key", 999)).toBe("account");
  expect(cache.recall("key", 1_000)).toBeUndefined();
});

test("a rejection is cached for a shorter time of its own", ({ expect }) => {
  const cache = freshCache();
  cache.reject("hash", 0);

  expect(cache.isRejected("hash", 99)).toBe(true);
  expect(cache.isRejected("hash", 100)).toBe(false);
});

test("the oldest answer makes room for the newest", ({ expect }) => {
  const cache = freshCache(2);
  cache.accept("a", "A", 0);
  cache.accept("b", "B", 1);
  cache.accept("a", "A", 2);
  cache.accept("c", "C", 3);

  expect(cache.recall("b", 4)).toBeUndefined();
  expect(cache.recall("a", 4)).toBe("A");
  expect(cache.recall("c", 4)).toBe("C");
});

test("an answer that is worth several ordinary ones takes their room", ({ expect }) => {
  const limits = { acceptedTtlMs: 1_000, rejectedTtlMs: 100, size: 5 };
  const cache = new CredentialCache<string>({ ...limits, weigh: (answer) => answer.length });
  cache.accept("a", "AAA", 0);
  cache.accept("b", "BBB", 1);

  expect(cache.recall("a", 2)).toBeUndefined();
  expect(cache.recall("b", 2)).toBe("BBB");
});

test("a flood of rejections evicts no accepted credential", ({ expect }) => {
  const cache = freshCache(2);
  cache.accept("right", "account", 0);
  for (let wrong = 0; wrong < 100; wrong += 1) cache.reject(`wrong ${wrong}`, 1);

  expect(cache.recall("right", 2)).toBe("account");
});
