/** Detects whether files have changed since they were read. */
import type { BigIntStats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { isNeverShipped } from "../../build/ignore-rules.ts";

/** Coarsest clock of file systems: a second write within this time may leave the same timestamp. */
const TICK_MS = 20;

type State = {
  /** Differs between states. */
  readonly key: string;
  /** Present for a directory: while it is the same, the key is too. */
  readonly written?: string;
};

const NOTHING: State = { key: "none" };

/** States of files and directories by absolute path, at one time. */
export class FileStates {
  readonly #states: Map<string, State>;

  private constructor(states: Map<string, State>) {
    this.#states = states;
  }

  /** `before` saves reading directories that have not changed. */
  static async of(paths: Iterable<string>, before?: FileStates): Promise<FileStates> {
    const previous = before === undefined ? undefined : before.#states;
    const states = [...new Set(paths)].map(async (path): Promise<[string, State]> => {
      return [path, await stateOf(path, previous?.get(path))];
    });
    return new FileStates(new Map(await Promise.all(states)));
  }

  /** Adds paths with their current state. */
  async follow(paths: readonly string[]): Promise<void> {
    const added = await FileStates.of(paths.filter((path) => !this.#states.has(path)));
    for (const [path, state] of added.#states) this.#states.set(path, state);
  }

  /** Whether some have changed, or may have. */
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

/** Only the names of modules and directories count, since other files are created and deleted often. */
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
