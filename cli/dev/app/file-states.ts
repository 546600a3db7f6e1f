/** Whether files are what they were when they were read. */
import { type BigIntStats } from "node:fs";
import { stat } from "node:fs/promises";

/** Clocks of file systems tick this seldom at most: what was written just before a look may be written again unseen. */
const TICK_NS = 20_000_000n;

/** Files and directories, as whole paths, as they are at one moment. */
export class FileStates {
  readonly #states: Map<string, string>;

  private constructor(states: Map<string, string>) {
    this.#states = states;
  }

  static async of(paths: Iterable<string>): Promise<FileStates> {
    const now = BigInt(Date.now()) * 1_000_000n;
    const states = [...new Set(paths)].map(async (path): Promise<[string, string]> => {
      const found = await stat(path, { bigint: true }).catch(() => undefined);
      return [path, found === undefined ? "none" : stateOf(found, now)];
    });
    return new FileStates(new Map(await Promise.all(states)));
  }

  /** From now on these count too, as they are now. */
  async follow(paths: readonly string[]): Promise<void> {
    const added = await FileStates.of(paths.filter((path) => !this.#states.has(path)));
    for (const [path, state] of added.#states) this.#states.set(path, state);
  }

  /** One of them is another, or cannot be told from another. */
  async haveChanged(): Promise<boolean> {
    const now = await FileStates.of(this.#states.keys());
    return [...this.#states].some(([path, state]) => now.#states.get(path) !== state);
  }
}

/** A directory's time alone counts: it is another when an entry comes, goes or is renamed. */
function stateOf(found: BigIntStats, now: bigint): string {
  const isFresh = now - found.mtimeNs < TICK_NS && now >= found.mtimeNs;
  const written = `${found.mtimeNs} ${found.ino}`;
  return `${found.isDirectory() ? written : `${written} ${found.size}`}${isFresh ? " fresh" : ""}`;
}
