/** Packages of npm that the command lists: package.json, and a lockfile for all platforms. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Failure } from "../../src/std/failure.ts";

type Dependencies = Readonly<Record<string, string>>;
type LockedPackage = {
  readonly version: string;
  readonly optional?: boolean;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
};
type Manifest = { readonly dependencies?: Dependencies; readonly optionalDependencies?: Dependencies };
type Lockfile = { readonly packages: Readonly<Record<string, LockedPackage & Manifest>> };

export type PackageSet = {
  readonly name: string;
  /** Differs whenever a version does. */
  readonly fingerprint: string;
  readonly manifest: Manifest;
  readonly lockfile: Lockfile;
  /** The package with the program for one platform: of all that are listed, the one that is needed. */
  readonly native: string | undefined;
};

const NATIVE = /^node_modules\/((?:@cloudflare\/workerd|node)-.+)$/;

/** Reads what a directory lists, with an eye to a platform. */
export function readPackageSet(
  directory: string,
  platform: { readonly os: string; readonly cpu: string } = { os: process.platform, cpu: process.arch },
): PackageSet {
  const json = readFileSync(join(directory, "package-lock.json"), "utf8");
  const lockfile = JSON.parse(json) as Lockfile;
  const paths = Object.entries(lockfile.packages)
    .filter(
      ([, { os, cpu }]) =>
        [os ?? []].flat().includes(platform.os) && [cpu ?? []].flat().includes(platform.cpu),
    )
    .map(([path]) => NATIVE.exec(path)?.[1]);
  return {
    name: basename(directory),
    fingerprint: createHash("sha256").update(json).digest("hex").slice(0, 12),
    manifest: JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest,
    lockfile,
    native: paths.find((name) => name !== undefined),
  };
}

/**
 * The two files for npm, by name. npm ignores failures of optional packages silently, so the native package is
 * required, and nothing else is optional.
 */
export function installationFiles({
  manifest,
  lockfile,
  native,
}: PackageSet): Readonly<Record<string, string>> {
  const own = native === undefined ? undefined : lockfile.packages[`node_modules/${native}`];
  if (native === undefined || own === undefined) throw new Error("the set has nothing for this platform");
  const { optional: _, ...required } = own;
  const root = { ...manifest, dependencies: { ...manifest.dependencies, [native]: own.version } };
  delete (root as { optionalDependencies?: Dependencies }).optionalDependencies;
  const packages = { ...lockfile.packages, "": root, [`node_modules/${native}`]: required };
  return {
    "package.json": JSON.stringify(root),
    "package-lock.json": JSON.stringify({ ...lockfile, packages }),
  };
}

/** Platforms for which there are builds of workerd. */
const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"];

type Platform = {
  /** As Node calls it, such as linux-x64. */
  readonly name: string;
  /** Linux with another C library than that of GNU. */
  readonly isMusl: boolean;
};

/** Throws a Failure where the Workers runtime does not run. */
export function requireRuntimePlatform(platform: Platform = ownPlatform()): void {
  if (PLATFORMS.includes(platform.name) && !platform.isMusl) return;
  const name = platform.isMusl ? `${platform.name} with musl, such as Alpine` : platform.name;
  throw new Failure(
    `The local edge does not run on this computer: there is no Workers runtime for ${name}.`,
    [
      `There is one for ${PLATFORMS.join(", ")}.`,
      "Use an Edgerun elsewhere: `flash login --url https://your-edge.example`, and leave out --local or --preview.",
    ],
  );
}

function ownPlatform(): Platform {
  return { name: `${process.platform}-${process.arch}`, isMusl: process.platform === "linux" && !hasGlibc() };
}

function hasGlibc(): boolean {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime !== undefined;
}
