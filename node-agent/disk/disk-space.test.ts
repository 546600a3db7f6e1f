import { describe, test } from "vitest";
import { DiskSpace, type EvictionSource } from "./disk-space.ts";

/** Keeps things of ten bytes, named by the time of their last use. */
class Shelf implements EvictionSource {
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

describe("room on a disk", () => {
  const images = new Shelf();
  const files = new Shelf();

  function roomOf(reserveBytes: number): DiskSpace {
    for (const shelf of [images, files]) {
      shelf.things.clear();
      shelf.taken.clear();
    }
    for (const thing of [1, 4]) images.things.add(thing);
    for (const thing of [2, 3]) files.things.add(thing);
    const freeBytes = async () => 40 - 10 * (images.things.size + files.things.size);
    const room = new DiskSpace({ freeBytes, reserveBytes, checkIntervalMs: 3_600_000 });
    for (const shelf of [images, files]) room.add(shelf);
    return room;
  }

  test("is made by what was unused for longest, whatever it is", async ({ expect }) => {
    const room = roomOf(10);
    expect(await room.ensureFree(10)).toBe(true);
    expect([...images.things, ...files.things]).toEqual([4, 3]);
    expect(await room.freeableBytes()).toBe(20);
    expect(await room.ensureFree(10)).toBe(false);
    room.close();
  });

  test("is made by the next one where one is taken meanwhile", async ({ expect }) => {
    const room = roomOf(0);
    images.taken.add(1);
    expect(await room.evictOne()).toBe(true);
    expect([...images.things, ...files.things]).toEqual([1, 4, 3]);
    room.close();
  });

  test("is not more than the reserve where what is to come has none in any case", async ({ expect }) => {
    const room = roomOf(10);
    await room.ensureFree(1_000);
    expect([...images.things, ...files.things]).toEqual([4, 2, 3]);
    room.close();
  });
});
