/** Which of the things that an agent keeps may go when the disk is full, and in which order. */
import type { CachedItem } from "../runtime/images/cached-images.ts";

export type InUse = {
  /** Contents that a container has, running or not. */
  readonly contentIds: ReadonlySet<string>;
  /** Names that a start may ask for at any moment. */
  readonly names: ReadonlySet<string>;
};

export function isInUse({ name, contentId }: CachedItem, { contentIds, names }: InUse): boolean {
  return contentIds.has(contentId) || names.has(name);
}

/** What may go, the longest unused first. */
export function evictable(items: readonly CachedItem[], inUse: InUse): CachedItem[] {
  return items.filter((item) => !isInUse(item, inUse)).toSorted((a, b) => a.lastUsedAt - b.lastUsedAt);
}

/**
 * Free space to make, in bytes: the reserve, and room for what is to come where there can be as much. Where there
 * cannot, parting with everything would help nobody.
 */
export function freeGoal(space: {
  readonly freeBytes: number;
  readonly evictableBytes: number;
  readonly reserveBytes: number;
  readonly neededBytes: number;
}): number {
  const targetBytes = space.reserveBytes + space.neededBytes;
  return space.freeBytes + space.evictableBytes >= targetBytes ? targetBytes : space.reserveBytes;
}
