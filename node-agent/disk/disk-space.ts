/**
 * Free space on one disk: what the agent has cached there for later starts is removed when the disk gets full, the
 * least recently used first, whatever its kind.
 */
import { errorMessage, ignoreFailure } from "../../src/std/errors.ts";
import { stat, statfs } from "node:fs/promises";

/** Free disk in GB below which unused images are removed, unless the owner of the host sets another value. */
export const DISK_RESERVE_DEFAULT_GB = 10;

/** GB of its disk that models may take, unless the owner of the host sets another value. */
export const MODEL_CACHE_DEFAULT_GB = 500;

/** One cached thing that may be removed. */
export type Removable = {
  readonly sizeBytes: number;
  readonly lastUsedAt: number;
  /** Resolves to false when it may no longer be removed. */
  readonly remove: () => Promise<boolean>;
};

/** A cache of things of one kind. */
export interface EvictionSource {
  /** What is not in use. */
  removable(): Promise<readonly Removable[]>;
  /** Bytes that removing all of it would free. */
  freeableBytes(): Promise<number>;
}

export type DiskSpaceOptions = {
  /** Free space, in bytes; null when it is unknown. */
  readonly freeBytes: () => Promise<number | null>;
  readonly reserveBytes: number;
  /** Time between two checks while nothing is stored. */
  readonly checkIntervalMs: number;
};

export class DiskSpace {
  readonly #options: DiskSpaceOptions;
  readonly #sources: EvictionSource[] = [];
  #lastRound: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: DiskSpaceOptions) {
    this.#options = options;
  }

  /** Makes a cache give way when the disk gets full. */
  add(source: EvictionSource): void {
    this.#sources.push(source);
    if (this.#timer) return;
    this.#timer = setInterval(
      () => void this.ensureFree(0).catch(ignoreFailure),
      this.#options.checkIntervalMs,
    ); // the next check tries again
    this.#timer.unref();
  }

  /** Removes until the reserve and `neededBytes` are free; resolves to true when anything was removed. */
  ensureFree(neededBytes: number): Promise<boolean> {
    return this.#inTurn(() => this.#ensureFree(neededBytes));
  }

  /** Removes the least recently used thing. False when nothing may be removed. */
  evictOne(): Promise<boolean> {
    return this.#inTurn(async () => {
      for (const one of await this.#removable()) if (await one.remove()) return true;
      return false;
    });
  }

  /** Bytes that removing everything unused would free. */
  async freeableBytes(): Promise<number> {
    const bytes = this.#sources.map((source) => source.freeableBytes().catch(() => 0));
    return (await Promise.all(bytes)).reduce((total, one) => total + one, 0);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** One round at a time: each sees what the previous one has left. */
  #inTurn(round: () => Promise<boolean>): Promise<boolean> {
    const turn = this.#lastRound.then(round);
    this.#lastRound = turn.catch(() => false);
    return turn;
  }

  async #ensureFree(neededBytes: number): Promise<boolean> {
    const { freeBytes: read, reserveBytes } = this.#options;
    let freeBytes = await read();
    if (freeBytes === null || freeBytes >= reserveBytes + neededBytes) return false;
    const removable = await this.#removable();
    const evictableBytes = removable.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
    const goal = freeGoal({ freeBytes, evictableBytes, reserveBytes, neededBytes });
    let hasRemoved = false;
    for (const one of removable) {
      if (freeBytes === null || freeBytes >= goal) break;
      hasRemoved = (await one.remove()) || hasRemoved;
      freeBytes = await read();
    }
    return hasRemoved;
  }

  async #removable(): Promise<Removable[]> {
    const removable = await Promise.all(this.#sources.map((source) => source.removable()));
    return removable.flat().toSorted((a, b) => a.lastUsedAt - b.lastUsedAt);
  }
}

/**
 * Free space to make, in bytes: the reserve and what is about to be stored. The reserve alone where even removing
 * everything would not make enough space for both.
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

/** Free space of the disk that a directory is on, in bytes; null when this process cannot see it. */
export async function freeBytesOf(directory: string): Promise<number | null> {
  const space = await statfs(directory).catch(() => null);
  return space && space.bavail * space.bsize;
}

/** Whether two directories are on the same disk; false when this process cannot see them. */
export async function areOnOneDisk(one: string, other: string): Promise<boolean> {
  const devices = await Promise.all([one, other].map((path) => stat(path).catch(() => null)));
  return devices[0] !== null && devices[0]?.dev === devices[1]?.dev;
}

/** Whether an error of the file system or of Docker's daemon means that the disk is full. */
export function isNoSpace(error: unknown): boolean {
  return /no space left/i.test(errorMessage(error));
}
