/**
 * One directory of fetched packages: what belongs to it, and which processes run from it.
 *
 * D1  The inventory is written last, so a directory without one is not whole.
 * D2  A process records that it uses the directory before it runs from it.
 */
import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join, relative } from "node:path";
import * as z from "zod";
import { processExists, thisOwner, processStateOf } from "../project/process-owner.ts";

const INVENTORY = "inventory.json";
const USERS = "users";
/** So users who switch between two versions need not fetch each time. */
const RETENTION_MS = 14 * 24 * 3_600_000;

const inventorySchema = z.record(z.string(), z.number());
const userSchema = z.object({ pid: z.number(), startedAt: z.string(), host: z.string() });

/** Lengths of all files in a directory, in bytes, by their paths from there. */
export async function fileSizes(directory: string): Promise<ReadonlyMap<string, number>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((file) => join(file.parentPath, file.name));
  const sizes = paths.map(async (path): Promise<[string, number]> => {
    const size = await lstat(path).then(
      (found) => found.size,
      () => 0, // It was removed meanwhile.
    );
    return [relative(directory, path), size];
  });
  return new Map(await Promise.all(sizes));
}

/** Writes the inventory. */
export async function seal(directory: string): Promise<void> {
  const inventory = Object.fromEntries(await fileSizes(directory));
  await writeFile(join(directory, INVENTORY), JSON.stringify(inventory));
}

/** Whether all is there that was there when it was sealed, with its length. */
export async function isWhole(directory: string): Promise<boolean> {
  try {
    const inventory = inventorySchema.parse(JSON.parse(await readFile(join(directory, INVENTORY), "utf8")));
    const found = await fileSizes(directory);
    return Object.entries(inventory).every(([path, size]) => found.get(path) === size);
  } catch {
    return false;
  }
}

/** Notes that this process runs from it. Throws where it does not exist, or cannot be written to. */
export async function use(directory: string): Promise<void> {
  const users = join(directory, USERS);
  await mkdir(users).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await writeFile(join(users, `${hostname()}-${process.pid}`), JSON.stringify(thisOwner()));
  for (const name of await readdir(users)) {
    if ((await userState(join(users, name))) === "ended") await rm(join(users, name), { force: true });
  }
}

/** Whether a process runs from it, or has recently. */
export async function isUsed(directory: string): Promise<boolean> {
  const users = join(directory, USERS);
  const names = await readdir(users).catch((): string[] => []);
  for (const path of [directory, ...names.map((name) => join(users, name))]) {
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs < RETENTION_MS) return true;
    if (path !== directory && (await userState(path)) === "running") return true;
  }
  return false;
}

/** Removes it in one step, unless it turns out to be needed. */
export async function discard(
  directory: string,
  isStillNeeded: (directory: string) => Promise<boolean>,
): Promise<void> {
  const aside = `${directory}.${process.pid}-${randomUUID()}`;
  await rename(directory, aside);
  if (await isStillNeeded(aside)) await rename(aside, directory);
  else await rm(aside, { recursive: true, force: true });
}

async function userState(user: string): Promise<"running" | "ended" | "elsewhere"> {
  try {
    return processStateOf(userSchema.parse(JSON.parse(await readFile(user, "utf8"))));
  } catch {
    return "ended"; // It was killed while it wrote this.
  }
}

/** A directory of packages, and what a process with this number was about to make or to remove. */
const PACKAGES = /^(?:miniflare|node)-\w+-\w+-[0-9a-f]{12}(?:\.(\d+)-.+)?$/;

/** Removes directories of versions that no process runs from, except `retained`, and what killed processes have left. Never throws. */
export async function removeUnused(cache: string, retained: readonly string[]): Promise<void> {
  const names = await readdir(cache).catch((): string[] => []);
  for (const name of names) {
    const found = PACKAGES.exec(name);
    const directory = join(cache, name);
    if (found === null || retained.includes(directory)) continue;
    const [, pid] = found;
    await (pid === undefined ? removeIfUnused(directory) : removeIfKilled(directory, Number(pid))).catch(
      () => {}, // Another process removes it, or another user owns it.
    );
  }
}

async function removeIfUnused(directory: string): Promise<void> {
  if (!(await isUsed(directory))) await discard(directory, isUsed);
}

async function removeIfKilled(directory: string, pid: number): Promise<void> {
  if (!processExists(pid)) await rm(directory, { recursive: true, force: true });
}
