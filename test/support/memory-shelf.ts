import type { CachedItem, CachedImageStore } from "../../node-agent/runtime/images/cached-images.ts";

/** A shelf that lives as long as the test. */
export class MemoryShelf implements CachedImageStore {
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
