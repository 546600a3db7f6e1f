import fc from "fast-check";
import { test } from "vitest";
import { ARTIFACT_MAX_BYTES } from "../../contract/flash/flash-limits.ts";
import { bytesOfPart, countOfParts, partBytesOf } from "./artifact-parts.ts";

const MEBIBYTE = 1024 * 1024;

test("the parts of an artifact of any size are its bytes, and all but the last are equal", ({ expect }) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: ARTIFACT_MAX_BYTES }), (sizeBytes) => {
      const numbers = Array.from({ length: countOfParts(sizeBytes) }, (_, index) => index + 1);
      const sizes = numbers.map((number) => bytesOfPart(sizeBytes, number) ?? Number.NaN);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(sizeBytes);
      expect(new Set(sizes.slice(0, -1)).size).toBeLessThanOrEqual(1);
      expect(sizes.at(-1)).toBeGreaterThan(0);
      expect(sizes.at(-1)).toBeLessThanOrEqual(partBytesOf(sizeBytes));
    }),
  );
});

test("a small artifact is cut into small parts, a large one into large ones", ({ expect }) => {
  expect(partBytesOf(1)).toBe(8 * MEBIBYTE);
  expect(partBytesOf(200 * MEBIBYTE)).toBe(13 * MEBIBYTE);
  expect(partBytesOf(ARTIFACT_MAX_BYTES)).toBe(64 * MEBIBYTE);
  expect(countOfParts(ARTIFACT_MAX_BYTES)).toBe(23);
});

test.for([0, -1, 3, 1.5, Number.NaN])("there is no part %d of two", (number, { expect }) => {
  expect(bytesOfPart(9 * MEBIBYTE, number)).toBeUndefined();
});
