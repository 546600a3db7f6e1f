import type { ArtifactSource } from "../../artifacts/artifact-download.ts";

/** An image that an agent has brought to its host and keeps for later starts. Files of apps speak for themselves: see artifact-shelf.ts. */
export type CachedItem = {
  readonly kind: "image";
  /** What it is asked for by; the content's id where it has lost its name to a newer one. */
  readonly name: string;
  /** What it was when the agent brought it: somebody else may have given the name to another since. */
  readonly contentId: string;
  readonly sizeBytes: number;
  readonly lastUsedAt: number;
};

/** The memory of what is kept; it outlives the agent's process. */
export interface CachedImageStore {
  items(): CachedItem[];
  /** Takes the place of the item of that kind and name. */
  save(item: CachedItem): void;
  remove(item: Pick<CachedItem, "kind" | "name">): void;
}

/** What a runtime has to know to keep things, and to part with them. */
export type CacheOptions = {
  readonly cachedImages: CachedImageStore;
  /** Names of the images of the workers that this host shall run. */
  readonly assignedImages: () => ReadonlySet<string>;
  /** SHA-256s of the files of apps that those workers have. */
  readonly assignedArtifacts: () => ReadonlySet<string>;
  /** Where files of apps come from. */
  readonly artifacts: ArtifactSource;
};
