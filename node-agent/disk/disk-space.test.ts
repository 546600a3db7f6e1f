import { describe, test } from "vitest";
import { DiskSpace, type EvictionSource } from "./disk-space.ts";

/** Keeps things of ten bytes, named by the time of their last use. */
class TestCache implements EvictionSource {
  readonly things: Set<number>;
  /** Somebody uses these from the moment on in which they would go. */
  readonly taken = new Set<number>();

  constructor(...things: readonly number[]) {
    this.things = new Set(things);
  }

  async removable() {
    return [...this.things].map((lastUsedAt) => ({
      lastUsedAt,
      sizeBytes: 10,
      remove: async () => !this.taken.has(lastUsedAt) && this.things.delete(lastUsedAt),
    }));
  }

  async freeableBytes(): Promise<number> {
    return this.things.size * 10;
  }
}

describe("disk on a disk", () => {
  const images = new TestCache();
  const files = new TestCache();

  function diskOf(reserveBytes: number): DiskSpace {
    for (const cache of [images, files]) {
      cache.things.clear();
      cache.taken.clear();
    }
    for (const thing of [1, 4]) images.things.add(thing);
    for (const thing of [2, 3]) files.things.add(thing);
    const freeBytes = async () => 40 - 10 * (images.things.size + files.things.size);
    const disk = new DiskSpace({ freeBytes, reserveBytes, checkIntervalMs: 3_600_000 });
    for (const cache of [images, files]) disk.add(cache);
    return disk;
  }

  test("is made by what was unused for longest, whatever it is", async ({ expect }) => {
    const disk = diskOf(10);
    expect(await disk.ensureFree(10)).toBe(true);
    expect([...images.things, ...files.things]).toEqual([4, 3]);
    expect(await disk.freeableBytes()).toBe(20);
    expect(await disk.ensureFree(10)).toBe(false);
    disk.close();
  });

  test("is made by the next one where one is taken meanwhile", async ({ expect }) => {
    const disk = diskOf(0);
    images.taken.add(1);
    expect(await disk.evictOne()).toBe(true);
    expect([...images.things, ...files.things]).toEqual([1, 4, 3]);
    disk.close();
  });

  test("is not more than the reserve where what is to come has none in any case", async ({ expect }) => {
    const disk = diskOf(10);
    await disk.ensureFree(1_000);
    expect([...images.things, ...files.things]).toEqual([4, 2, 3]);
    disk.close();
  });
});
