import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { StepOutcome } from "./step.ts";

type Package = {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};
type Packages = Readonly<Record<string, Package>>;

async function readJson<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(path, "utf8")) as T;
}

/** Whether `npm ci` will accept the lockfile in a fresh clone, also on another platform. */
export async function lockfileIsWhole(root: string): Promise<StepOutcome> {
  const manifest = await readJson<Package>(join(root, "package.json"));
  const { packages } = await readJson<{ packages: Packages }>(join(root, "package-lock.json"));
  const locked = packages[""];
  if (
    !isDeepStrictEqual(manifest.dependencies, locked?.dependencies) ||
    !isDeepStrictEqual(manifest.devDependencies, locked?.devDependencies)
  ) {
    return {
      kind: "failed",
      output: "package-lock.json does not belong to package.json. Run: npm install, and commit both.",
    };
  }
  const missing = missingOptionals(packages);
  if (missing.length === 0) return await packagesAreInstalled(root, manifest, packages);
  return {
    kind: "failed",
    output: [
      "package-lock.json lacks optional packages, most likely binaries that the registry did not have for",
      "every platform. `npm ci` will refuse it. Choose a version whose binaries are all there:",
      ...missing.map((line) => `  ${line}`),
    ].join("\n"),
  };
}

/** What the other checks find depends on it. */
async function packagesAreInstalled(
  root: string,
  manifest: Package,
  packages: Packages,
): Promise<StepOutcome> {
  const names = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
  const versions = names.map(async (name) => {
    const path = `node_modules/${name}`;
    const installed = await readJson<Package>(join(root, path, "package.json")).catch(() => undefined);
    return installed?.version === packages[path]?.version ? [] : [name];
  });
  const outdated = (await Promise.all(versions)).flat();
  if (outdated.length === 0) return { kind: "passed" };
  return {
    kind: "failed",
    output: `node_modules does not belong to package-lock.json (${outdated.join(", ")}). Run: npm ci`,
  };
}

/** npm silently leaves out optional packages that a registry does not have. */
function missingOptionals(packages: Packages): readonly string[] {
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !isLocked(packages, path, name))
      .map((name) => `${name} of ${path}`),
  );
}

/** Looks where Node would: beside the package, then in every node_modules above it. */
function isLocked(packages: Packages, path: string, name: string): boolean {
  if (`${path === "" ? "" : `${path}/`}node_modules/${name}` in packages) return true;
  if (path === "") return false;
  const above = path.lastIndexOf("/node_modules/");
  return isLocked(packages, above < 0 ? "" : path.slice(0, above), name);
}
