/**
 * The packages that the edge serves below /packages, each of the very version of the edge:
 *
 *   edgerun-<version>-py3-none-any.whl   the Python package, with the `flash` command in it
 *   edgerun.tgz                          the `flash` command, for npm
 *   index.json                           their names, sizes and hashes; see src/contract/flash/packages.ts
 */
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type PackageIndex, PACKAGE_INDEX_FILE } from "../../src/contract/flash/packages.ts";
import { EDGERUN_VERSION } from "../../src/contract/version.ts";
import { digestOf } from "./assets.ts";
import { layOutCli } from "./cli-bundle.ts";
import { layOutNpmPackage, packNpmPackage, TARBALL_FILE } from "./npm-package.ts";
import { buildPythonWheel, WHEEL_FILE } from "./python-wheel.ts";

/** The largest file that Cloudflare accepts. */
const FILE_BYTES_MAX = 25 * 1024 ** 2;

/** The sources of the packages, and the scripts that build them. */
const SOURCES = [
  "{cli,standalone,src,console,node-agent}/**/*",
  "sdk/python/{pyproject.toml,README.md,src/**/*.{py,typed}}",
  "drizzle/*.sql",
  "scripts/**/*.ts",
  "{wrangler.toml,package-lock.json,LICENSE}",
];

/** Brings `dist/assets/packages` up to date; what is as it should be is not touched. */
export async function buildPackages(root: string, say: (line: string) => void = () => {}): Promise<void> {
  const target = join(root, "dist/assets/packages");
  const stampPath = join(root, "dist/packages.built");
  const state = () => `${packageFingerprint(root)} ${digestOf(target, ["**/*"])}\n`;
  if ((await readFile(stampPath, "utf8").catch(() => "")) === state()) return;
  say("Building the packages of flash ...");
  await mkdir(join(root, "dist"), { recursive: true });
  const stage = await mkdtemp(join(root, "dist/packages-"));
  try {
    await layOutPackages(root, stage);
    await replace(join(stage, "packages"), target);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
  await writeFile(stampPath, state());
}

/** Differs whenever a source of the `flash` command or of the Python package differs. */
export function packageFingerprint(root: string): string {
  return digestOf(root, SOURCES);
}

async function layOutPackages(root: string, stage: string): Promise<void> {
  const [cli, npm, packages] = ["cli", "npm", "packages"].map((name) => join(stage, name)) as [
    string,
    string,
    string,
  ];
  await layOutCli(root, cli);
  const wheel = await buildPythonWheel(root, cli, packages);
  await layOutNpmPackage(root, cli, npm);
  const tarball = join(packages, TARBALL_FILE);
  await packNpmPackage(npm, tarball);
  const index: PackageIndex = {
    version: EDGERUN_VERSION,
    python: { file: WHEEL_FILE, ...(await measure(wheel)) },
    npm: { file: TARBALL_FILE, ...(await measure(tarball)) },
  };
  await writeFile(join(packages, PACKAGE_INDEX_FILE), `${JSON.stringify(index)}\n`);
}

async function measure(path: string): Promise<{ sha256: string; bytes: number }> {
  const content = await readFile(path);
  if (content.length > FILE_BYTES_MAX)
    throw new Error(`${path} is too large for an asset of a Worker script.`);
  return { sha256: createHash("sha256").update(content).digest("hex"), bytes: content.length };
}

/** A reader sees the old directory or the new one; between the two renames, none. */
async function replace(fresh: string, target: string): Promise<void> {
  const stale = `${fresh}-stale`;
  await mkdir(dirname(target), { recursive: true });
  await rename(target, stale).catch(() => undefined);
  await rename(fresh, target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOTEMPTY") throw error; // another process was faster
  });
}
