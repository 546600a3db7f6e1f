/** Packages of npm that come with the command as a list: package.json, and a lockfile for all platforms. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

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
 * The two files for npm, by name. What is optional there may fail without a word, so the native package is required,
 * and nothing else is optional.
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
