/**
 * One directory of fetched packages: what belongs to it, and who runs from it.
 *
 * D1  The inventory is written last, so a directory without one is not whole.
 * D2  Whoever runs from it has said so before.
 */
import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join, relative } from "node:path";
import * as z from "zod";
import { thisOwner, processStateOf } from "../project/process-owner.ts";

const INVENTORY = "inventory.json";
const USERS = "users";
/** Who goes from one version to another and back shall not fetch each time. */
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
      () => 0, // It has gone meanwhile.
    );
    return [relative(directory, path), size];
  });
  return new Map(await Promise.all(sizes));
}

/** Writes down what there is. */
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

/** Says that this process runs from it. Throws where it is not there, or cannot be written to. */
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

/** Whether a process runs from it, or one has of late. */
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

/** Takes it away in one step; leaves it where it is when somebody wants it after all. */
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
