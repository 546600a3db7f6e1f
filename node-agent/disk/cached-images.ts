/** Images that the agent has pulled and caches for later starts, and which of them may be removed. */

export type CachedImage = {
  readonly kind: "image";
  /** The name that it is requested by; its content id once the name has moved to a newer image. */
  readonly name: string;
  /** Its content when the agent pulled it: the name may since have been given to another image. */
  readonly contentId: string;
  readonly sizeBytes: number;
  readonly lastUsedAt: number;
};

/** Remembers cached images across restarts of the agent. */
export interface CachedImageStore {
  items(): CachedImage[];
  /** Replaces the image of the same name. */
  save(image: CachedImage): void;
  remove(image: Pick<CachedImage, "kind" | "name">): void;
}

export type InUse = {
  /** Contents of which a container exists, running or not. */
  readonly contentIds: ReadonlySet<string>;
  /** Names that a start may request at any moment. */
  readonly names: ReadonlySet<string>;
};

export function isInUse({ name, contentId }: CachedImage, { contentIds, names }: InUse): boolean {
  return contentIds.has(contentId) || names.has(name);
}

/** What may be removed, the least recently used first. */
export function evictable(images: readonly CachedImage[], inUse: InUse): CachedImage[] {
  return images.filter((image) => !isInUse(image, inUse)).toSorted((a, b) => a.lastUsedAt - b.lastUsedAt);
}
