import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as base } from "vitest";
import { Volumes } from "./volumes.ts";

const test = base.extend<{ directory: string }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the fixture's needs from the pattern
  directory: async ({}, use) => {
    const parent = await mkdtemp(join(tmpdir(), "edgerun-volumes-"));
    await use(join(parent, "volumes"));
    await rm(parent, { recursive: true });
  },
});

const fixed = (directory: string) => new Volumes({ directory, createsMissing: false });

test("directories and links to them are volumes; files, dangling links and other names are not", async ({
  directory,
  expect,
}) => {
  expect(await fixed(directory).offered()).toEqual([]);
  for (const name of ["b", "elsewhere", "not an id"]) await mkdir(join(directory, name), { recursive: true });
  await symlink(join(directory, "elsewhere"), join(directory, "a"));
  await symlink(join(directory, "nowhere"), join(directory, "c"));
  await writeFile(join(directory, "d"), "");
  const volumes = fixed(directory);
  expect(await volumes.offered()).toEqual(["a", "b", "elsewhere"]);
  expect(await volumes.pathOfFirst(["c", "a", "b"])).toBe(join(directory, "elsewhere"));
  expect(await volumes.pathOfFirst([])).toBeNull();
  await expect(volumes.pathOfFirst(["c"])).rejects.toThrow(/"edgerun-agent volume add c".*\/volumes\/c\./);
});

test.for(["..", "../other", "a/b", "", ".", "a\0b"])(
  "'%s' never becomes a path",
  async (id, { directory, expect }) => {
    const volumes = new Volumes({ directory, createsMissing: true });
    await expect(volumes.pathOfFirst([id])).rejects.toThrowErrorMatchingSnapshot();
    await expect(volumes.create(id)).rejects.toThrowErrorMatchingSnapshot();
  },
);

test("who makes volumes offers any, and makes one for any user of a worker, not of the host", async ({
  directory,
  expect,
}) => {
  const volumes = new Volumes({ directory, createsMissing: true });
  expect(await volumes.offered()).toBeUndefined();
  expect(await volumes.pathOfFirst(["v1"])).toBe(join(directory, "v1"));
  expect((await stat(join(directory, "v1"))).mode & 0o777).toBe(0o777);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  expect(await volumes.create("v1")).toBe(join(directory, "v1"));
});
