import type { CachedImage, CachedImageStore } from "../../node-agent/disk/cached-images.ts";

/** Remembers cached images for the time of one test. */
export class MemoryImageStore implements CachedImageStore {
  readonly #images = new Map<string, CachedImage>();

  items(): CachedImage[] {
    return [...this.#images.values()];
  }

  save(image: CachedImage): void {
    this.#images.set(image.name, image);
  }

  remove({ name }: Pick<CachedImage, "kind" | "name">): void {
    this.#images.delete(name);
  }
}
