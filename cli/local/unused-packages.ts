/** What is in this person's cache of packages and serves nobody any more. */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { processExists } from "../project/process-owner.ts";
import { discard, isUsed } from "./package-directory.ts";

/** A directory of packages, and what a process with this number was about to make or to remove. */
const PACKAGES = /^(?:miniflare|node)-\w+-\w+-[0-9a-f]{12}(?:\.(\d+)-.+)?$/;

/** Removes directories of versions that nobody runs, but for `kept`, and what killed processes have left. Never throws. */
export async function removeUnused(cache: string, retained: readonly string[]): Promise<void> {
  const names = await readdir(cache).catch((): string[] => []);
  for (const name of names) {
    const found = PACKAGES.exec(name);
    const directory = join(cache, name);
    if (found === null || retained.includes(directory)) continue;
    const [, pid] = found;
    await (pid === undefined ? removeIfUnused(directory) : removeIfKilled(directory, Number(pid))).catch(
      () => {}, // Another one removes it, or it is not this person's: neither is worth a word.
    );
  }
}

async function removeIfUnused(directory: string): Promise<void> {
  if (!(await isUsed(directory))) await discard(directory, isUsed);
}

async function removeIfKilled(directory: string, pid: number): Promise<void> {
  if (!processExists(pid)) await rm(directory, { recursive: true, force: true });
}
