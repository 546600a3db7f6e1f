import fc from "fast-check";
import { describe, test } from "vitest";
import { type CachedImage, evictable } from "./cached-images.ts";
import { freeGoal } from "./disk-space.ts";
import { ownBytes } from "../runtime/images/image-cache.ts";

const content = fc.constantFrom<string>("sha256:a", "sha256:b", "sha256:c", "sha256:d");
const name = fc.constantFrom<string>("one:1", "two:1", "three:1", "four:1");
const item: fc.Arbitrary<CachedImage> = fc.record({
  kind: fc.constant("image" as const),
  name,
  contentId: content,
  sizeBytes: fc.nat(1_000),
  lastUsedAt: fc.nat(1_000),
});
const items = fc.uniqueArray(item, { selector: (one) => one.name, maxLength: 4 });
const inUse = fc.record({
  contentIds: fc.array(content).map((ids) => new Set(ids)),
  names: fc.array(name).map((names) => new Set(names)),
});

describe("what may go", () => {
  test("was brought by the agent, and is used by no container and no assigned worker", ({ expect }) => {
    fc.assert(
      fc.property(items, inUse, (kept, use) => {
        const going = evictable(kept, use);
        for (const one of going) {
          expect(kept).toContain(one);
          expect(use.contentIds.has(one.contentId) || use.names.has(one.name)).toBe(false);
        }
        const staying = kept.filter((one) => !going.includes(one));
        for (const one of staying) {
          expect(use.contentIds.has(one.contentId) || use.names.has(one.name)).toBe(true);
        }
      }),
    );
  });

  test("goes in the order of its last use, the longest unused first", ({ expect }) => {
    fc.assert(
      fc.property(items, inUse, (kept, use) => {
        const times = evictable(kept, use).map(({ lastUsedAt }) => lastUsedAt);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
      }),
    );
  });
});

describe("the free space to make", () => {
  const space = { freeBytes: 5, evictableBytes: 20, reserveBytes: 10, neededBytes: 12 };

  test("holds the reserve and what is to come", ({ expect }) => {
    expect(freeGoal(space)).toBe(22);
  });

  test("is the reserve alone where what is to come has no space in any case", ({ expect }) => {
    expect(freeGoal({ ...space, neededBytes: 16 })).toBe(10);
  });
});

test("what images share with others does not count as freeable, nor what is not known", ({ expect }) => {
  const images = [
    { Size: 100, SharedSize: 60 },
    { Size: 30, SharedSize: 0 },
    { Size: 500, SharedSize: -1 },
  ];
  expect(ownBytes(images)).toBe(70);
});
