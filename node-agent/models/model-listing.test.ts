import { describe, test } from "vitest";
import { isSafePath, listingProblem, MODEL_FILES_MAX, nextCursor } from "./model-listing.ts";

describe("a path that a hub names", () => {
  test.for(["config.json", "sub/deep/file.bin", ".gitattributes", "a..b", "näme", "with blank"])(
    "may be %s",
    (path, { expect }) => {
      expect(isSafePath(path)).toBe(true);
    },
  );

  test.for([
    "",
    "/",
    "/a",
    "a/",
    "a//b",
    ".",
    "..",
    "a/../b",
    "../a",
    "a\\..\\b",
    "a\nb",
    "a\0",
    "a/".repeat(40),
  ])("is not %j", (path, { expect }) => {
    expect(isSafePath(path)).toBe(false);
  });

  test.for([
    ["256 bytes", "ä".repeat(128)],
    ["1,025 characters", `${"a".repeat(200)}/`.repeat(5) + "a".repeat(20)],
  ])("has no part or whole of %s", ([, path = ""], { expect }) => {
    expect(isSafePath(path)).toBe(false);
  });
});

describe("files", () => {
  const file = (path: string, blob = "a".repeat(40), sizeBytes = 1) => ({ path, blob, sizeBytes });

  test("may share a content", ({ expect }) => {
    expect(listingProblem([file("a"), file("b"), file("sub/a")])).toBeUndefined();
  });

  test.for([
    ["none at all", []],
    ["one path twice", [file("a"), file("a")]],
    ["a file below a file", [file("a/b"), file("a")]],
    ["one content with two sizes", [file("a"), file("b", "a".repeat(40), 2)]],
    ["too many", Array.from({ length: MODEL_FILES_MAX + 1 }, (_, index) => file(String(index)))],
  ] as const)("are no model where there are %s", ([, files], { expect }) => {
    expect(listingProblem(files)).toEqual(expect.any(String));
  });
});

test("of a link to the next page its cursor counts, and not where it leads", ({ expect }) => {
  expect(nextCursor('<https://hub.test/api/models/a/b/tree/c?cursor=abc%3D&limit=2>; rel="next"')).toBe(
    "abc=",
  );
  expect(nextCursor('<http://169.254.169.254/?cursor=x>; rel="next"')).toBe("x");
  expect(nextCursor('<https://hub.test/?cursor=x>; rel="last"')).toBeUndefined();
  expect(nextCursor("<https://hub.test/>; rel=next")).toBeUndefined();
  expect(nextCursor(null)).toBeUndefined();
});
