/** Whether files are what they were when they were read. */
import type { BigIntStats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { isNeverShipped } from "../../build/ignore-rules.ts";

/** Clocks of file systems tick this seldom at most: what was written just before a look may be written again unseen. */
const TICK_MS = 20;

type State = {
  /** Another one is another state. */
  readonly key: string;
  /** Of a directory: as long as it is the same, so is the key. */
  readonly written?: string;
};

const NOTHING: State = { key: "none" };

/** Files and directories, as whole paths, as they are at one moment. */
export class FileStates {
  readonly #states: Map<string, State>;

  private constructor(states: Map<string, State>) {
    this.#states = states;
  }

  /** `before` saves looking into directories that are as they were. */
  static async of(paths: Iterable<string>, before?: FileStates): Promise<FileStates> {
    const previous = before === undefined ? undefined : before.#states;
    const states = [...new Set(paths)].map(async (path): Promise<[string, State]> => {
      return [path, await stateOf(path, previous?.get(path))];
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
    const now = await FileStates.of(this.#states.keys(), this);
    return [...this.#states].some(([path, { key }]) => now.#states.get(path)?.key !== key);
  }
}

async function stateOf(path: string, before: State | undefined): Promise<State> {
  try {
    const now = Date.now();
    const found = await stat(path, { bigint: true });
    return found.isDirectory() ? await directoryState(path, found, now, before) : fileState(found, now);
  } catch {
    return NOTHING;
  }
}

function fileState(found: BigIntStats, now: number): State {
  const key = `${found.mtimeNs} ${found.ino} ${found.size}`;
  return { key: isFresh(found, now) ? `${key} fresh` : key };
}

/** What counts are the names of modules and directories, for other files come and go. */
async function directoryState(
  path: string,
  found: BigIntStats,
  now: number,
  before: State | undefined,
): Promise<State> {
  const written = `${found.mtimeNs} ${found.ino}`;
  if (before?.written === written) return before;
  const entries = await readdir(path, { withFileTypes: true });
  const names = entries
    .filter((entry) => (entry.isDirectory() ? !isNeverShipped(`${entry.name}/`) : entry.name.endsWith(".py")))
    .map(({ name }) => name);
  const key = JSON.stringify(names.toSorted());
  return isFresh(found, now) ? { key } : { key, written };
}

function isFresh({ mtimeMs }: BigIntStats, now: number): boolean {
  const ageMs = now - Number(mtimeMs);
  return ageMs >= 0 && ageMs < TICK_MS;
}
