/**
 * Room on one disk: what the agent keeps there for later starts goes when the disk gets full, the longest unused
 * first, whatever it is.
 */
import { freeGoal } from "./eviction.ts";

/** One thing that may go. */
export type Removable = {
  readonly sizeBytes: number;
  readonly lastUsedAt: number;
  /** False when it may not go any more. */
  readonly remove: () => Promise<boolean>;
};

/** Who keeps things of one kind. */
export interface EvictionSource {
  /** What nobody uses. */
  removable(): Promise<readonly Removable[]>;
  /** Disk that would be free besides if all of that went, in bytes. */
  freeableBytes(): Promise<number>;
}

export type DiskSpaceOptions = {
  /** Free space, in bytes; null when it cannot be told. */
  readonly freeBytes: () => Promise<number | null>;
  readonly reserveBytes: number;
  /** Time between two looks while nothing comes. */
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

  /** From here on the keeper's things go when the disk gets full. */
  add(source: EvictionSource): void {
    this.#sources.push(source);
    if (this.#timer) return;
    this.#timer = setInterval(() => void this.ensureFree(0).catch(() => {}), this.#options.checkIntervalMs); // the next look tries again
    this.#timer.unref();
  }

  /** Removes until there is the reserve and room for what is to come; true when anything was removed. */
  ensureFree(neededBytes: number): Promise<boolean> {
    return this.#inTurn(() => this.#ensureFree(neededBytes));
  }

  /** Removes what was not used for the longest time. False when nothing may go. */
  evictOne(): Promise<boolean> {
    return this.#inTurn(async () => {
      for (const one of await this.#removable()) if (await one.remove()) return true;
      return false;
    });
  }

  /** Disk that what is kept would give back if there were need of it, in bytes. */
  async freeableBytes(): Promise<number> {
    const bytes = this.#sources.map((source) => source.freeableBytes().catch(() => 0));
    return (await Promise.all(bytes)).reduce((total, one) => total + one, 0);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** One round at a time: each looks at what the one before has left. */
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
