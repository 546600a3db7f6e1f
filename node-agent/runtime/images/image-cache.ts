/**
 * The images that the agent has pulled to this host. They stay for later starts, and go when the disk gets full.
 *
 * I1  What the agent has not pulled is its owner's, and is never removed. A name that now means another image
 *     than the one the agent pulled is the owner's, too.
 * I2  An image that a container has, running or not, or that an assigned worker may ask for, is never removed.
 * I3  Of the others the longest unused goes first (disk-space.ts).
 */
import type Dockerode from "dockerode";
import type { AgentLog } from "../../core/log.ts";
import { type CachedImage, evictable, type InUse, isInUse } from "../../disk/cached-images.ts";
import type { CacheOptions } from "../interface/runtime.ts";
import type { EvictionSource, Removable } from "../../disk/disk-space.ts";
import { ignoring } from "../daemon/docker-calls.ts";
import { isConflict, isNotFound } from "../daemon/docker-errors.ts";
import { listedName } from "../../../src/contract/content.ts";

export type ImageCacheOptions = {
  readonly docker: Dockerode;
  readonly log: Pick<AgentLog, "info">;
};

/** An image of this host. */
export type FoundImage = {
  readonly id: string;
  readonly sizeBytes: number;
  readonly names: readonly string[];
  /** The processor that it is built for, as Docker names it; empty when Docker does not report it. */
  readonly architecture: string;
};

/** Uses closer together than this are not worth a write. */
const USE_STEP_MS = 60_000;

export class ImageCache implements EvictionSource {
  readonly #options: ImageCacheOptions;
  readonly #cacheOptions: CacheOptions;
  /** Names that are being prepared, perhaps before their assignment is known. */
  readonly #preparing = new Map<string, number>();

  constructor(options: ImageCacheOptions, cacheOptions: CacheOptions) {
    this.#options = options;
    this.#cacheOptions = cacheOptions;
  }

  /** Keeps an image from being removed during the work. */
  async protectWhile<T>(imageName: string, work: () => Promise<T>): Promise<T> {
    const name = listedName(imageName);
    this.#preparing.set(name, (this.#preparing.get(name) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const left = (this.#preparing.get(name) ?? 1) - 1;
      if (left > 0) this.#preparing.set(name, left);
      else this.#preparing.delete(name);
    }
  }

  /** Whether the agent has brought the image that the name means now. */
  isOwn(imageName: string, image: FoundImage): boolean {
    return this.#itemOf(imageName)?.contentId === image.id;
  }

  recordUse(imageName: string, now = Date.now()): void {
    const item = this.#itemOf(imageName);
    if (item && now - item.lastUsedAt >= USE_STEP_MS)
      this.#cacheOptions.cachedImages.save({ ...item, lastUsedAt: now });
  }

  /** The agent has pulled this image; `before` is what the name meant until then, if anything. */
  recordPull(imageName: string, image: FoundImage, before: FoundImage | null, now = Date.now()): void {
    const { cachedImages } = this.#cacheOptions;
    if (before && !this.isOwn(imageName, before)) return; // I1
    if (before && before.id !== image.id) {
      const { id, sizeBytes } = before; // it no longer has a name
      cachedImages.save({ kind: "image", name: id, contentId: id, sizeBytes, lastUsedAt: now });
    }
    const { id: contentId, sizeBytes } = image;
    cachedImages.save({ kind: "image", name: listedName(imageName), contentId, sizeBytes, lastUsedAt: now });
  }

  async removable(): Promise<readonly Removable[]> {
    return (await this.#evictable()).map((item) => {
      const { sizeBytes, lastUsedAt } = item;
      return { sizeBytes, lastUsedAt, remove: () => this.#remove(item) };
    });
  }

  /** Bytes that removing all removable images would free. Shared and unknown sizes are left out. */
  async freeableBytes(): Promise<number> {
    const { docker } = this.#options;
    const query: object = { "shared-size": true };
    const images = new Map((await docker.listImages(query)).map((image) => [image.Id, image]));
    return ownBytes((await this.#evictable()).flatMap(({ contentId }) => images.get(contentId) ?? []));
  }

  async #evictable(): Promise<CachedImage[]> {
    const inUse = await this.#inUse();
    for (const item of this.#cacheOptions.cachedImages.items())
      if (isInUse(item, inUse)) this.recordUse(item.name);
    return evictable(this.#cacheOptions.cachedImages.items(), inUse);
  }

  async #inUse(): Promise<InUse> {
    const containers = await this.#options.docker.listContainers({ all: true });
    const assigned = [...this.#cacheOptions.assignedImages()].map(listedName);
    return {
      contentIds: new Set(containers.map(({ ImageID }) => ImageID)),
      names: new Set([...assigned, ...this.#preparing.keys()]),
    };
  }

  /** False when the image is not, or no longer, the agent's to remove. */
  async #remove(item: CachedImage): Promise<boolean> {
    const { docker, log } = this.#options;
    const { cachedImages } = this.#cacheOptions;
    const found = await findImage(docker, item.name);
    if (!found || !isStillOwn(item, found)) {
      cachedImages.remove(item); // I1
      return false;
    }
    if (isInUse(item, await this.#inUse())) return false; // I2: since it was chosen
    try {
      await docker.getImage(item.name).remove();
    } catch (error) {
      if (isConflict(error)) return false; // it is in use since a moment ago
      if (!isNotFound(error)) throw error;
    }
    cachedImages.remove(item);
    log.info("image_removed", { image: item.name, sizeBytes: item.sizeBytes });
    return true;
  }

  #itemOf(imageName: string): CachedImage | undefined {
    const name = listedName(imageName);
    return this.#cacheOptions.cachedImages
      .items()
      .find((item) => item.kind === "image" && item.name === name);
  }
}

/** Bytes that images share with no others; Docker before version 23 does not report shared bytes. */
export function ownBytes(images: readonly { readonly Size: number; readonly SharedSize: number }[]): number {
  const own = images.map(({ Size, SharedSize }) => (SharedSize < 0 ? 0 : Size - SharedSize));
  return own.reduce((total, bytes) => total + bytes, 0);
}

function isStillOwn(item: CachedImage, found: FoundImage): boolean {
  if (found.id !== item.contentId) return false;
  // An image that had lost its name may have got another one outside the agent.
  return item.name !== item.contentId || found.names.length === 0;
}

/** What a name, or an id, means on this host; null when it means nothing. */
export async function findImage(docker: Dockerode, name: string): Promise<FoundImage | null> {
  const found = await ignoring(isNotFound, docker.getImage(name).inspect());
  if (!found) return null;
  const { Id: id, Size: sizeBytes, RepoTags, Architecture: architecture } = found;
  return { id, sizeBytes, names: RepoTags ?? [], architecture };
}
