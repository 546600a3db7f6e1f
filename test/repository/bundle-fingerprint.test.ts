import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { fingerprintOf } from "../../scripts/bundle/edge-bundle.ts";

test("a bundle is rebuilt only when a source was changed, added, removed or moved", async ({ expect }) => {
  const root = await mkdtemp(join(tmpdir(), "edgerun-sources-"));
  const inRoot = (path: string) => join(root, path);
  await mkdir(inRoot("src/deep"), { recursive: true });
  const seen = new Set<string>();
  const after = async (change: Promise<void>): Promise<boolean> => {
    await change;
    const { size } = seen;
    return seen.add(fingerprintOf(root)).size > size;
  };

  expect(await after(writeFile(inRoot("src/index.ts"), "one"))).toBe(true);
  expect(await after(writeFile(inRoot("src/index.ts"), "two"))).toBe(true);
  expect(await after(writeFile(inRoot("src/index.ts"), "two"))).toBe(false);
  expect(await after(writeFile(inRoot("src/deep/part.ts"), "part"))).toBe(true);
  expect(await after(rename(inRoot("src/deep/part.ts"), inRoot("src/part.ts")))).toBe(true);
  expect(await after(writeFile(inRoot("wrangler.toml"), "name"))).toBe(true);
  expect(await after(writeFile(inRoot("package-lock.json"), "{}"))).toBe(true);
  expect(await after(writeFile(inRoot("README.md"), "no source"))).toBe(false);
  expect(await after(rm(inRoot("wrangler.toml")))).toBe(true);
  await rm(root, { recursive: true });
});
