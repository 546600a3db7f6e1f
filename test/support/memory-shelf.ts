import type { CachedItem, CacheShelf } from "../../node-agent/runtime/cache-shelf.ts";

/** A shelf that lives as long as the test. */
export class MemoryShelf implements CacheShelf {
  readonly #items = new Map<string, CachedItem>();

  items(): CachedItem[] {
    return [...this.#items.values()];
  }

  save(item: CachedItem): void {
    this.#items.set(item.name, item);
  }

  remove({ name }: Pick<CachedItem, "kind" | "name">): void {
    this.#items.delete(name);
  }
}
