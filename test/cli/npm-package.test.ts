/** The package for npm: packed, installed, run. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { onTestFinished, test } from "vitest";
import { FLASH_VERSION } from "../../cli/version.ts";
import { layOutNpmPackage } from "../../scripts/npm-package.ts";

const ROOT = resolve(import.meta.dirname, "../..");

async function directory(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "flash-npm-"));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
}

test("npm install -g of the packed package gives flash, with the Python package and the explorer beside it", async ({
  expect,
}) => {
  const [place, prefix] = [await directory(), await directory()];
  await layOutNpmPackage(ROOT, join(place, "npm"));
  await execa("npm", ["pack", "--silent", join(place, "npm")], { cwd: place });
  const archive = join(place, `edgerun-${FLASH_VERSION}.tgz`);
  await execa("npm", ["install", "-g", "--offline", "--no-audit", "--no-fund", "--prefix", prefix, archive]);

  const { stdout } = await execa(join(prefix, "bin/flash"), ["--version"]);
  expect(stdout).toBe(`flash ${FLASH_VERSION}`);
  await execa(join(prefix, "bin/flash"), ["init", "app"], { cwd: place });
  expect(await readdir(join(place, "app"))).toHaveLength(8);
  const installed = join(prefix, "lib/node_modules/edgerun");
  expect(await readdir(join(installed, "python/edgerun"))).toContain("__init__.py");
  expect(await readdir(join(installed, "explorer"))).toEqual(
    expect.arrayContaining(["index.html", "explorer.js", "swagger-ui-bundle.js", "LICENSE"]),
  );
});

test("the same sources give the same command", async ({ expect }) => {
  const place = await directory();
  const [one, two] = [join(place, "one"), join(place, "two")];
  for (const laidOut of [one, two]) await layOutNpmPackage(ROOT, laidOut);
  const parts = (await readdir(one)).filter((name) => name.endsWith(".mjs"));
  expect(parts).toContain("flash.mjs");
  for (const part of parts) expect(await readFile(join(one, part))).toEqual(await readFile(join(two, part)));
});

test("the command and the Python package are of one version", async ({ expect }) => {
  const python = await readFile(join(ROOT, "sdk/python/src/edgerun/version.py"), "utf8");
  expect(python).toContain(`"${FLASH_VERSION}"`);
});
