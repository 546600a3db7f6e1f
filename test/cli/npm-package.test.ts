/** The package for npm: served, installed, run. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { onTestFinished, test } from "vitest";
import { EDGERUN_VERSION } from "../../src/contract/version.ts";
import { layOutCli } from "../../scripts/bundle/cli-bundle.ts";
import { newAccount } from "../support/shared-edge.ts";

const ROOT = resolve(import.meta.dirname, "../..");

async function directory(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "flash-npm-"));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
}

test("npm install -g from the edge installs flash with the Python package and the explorer", async ({
  expect,
}) => {
  const [place, prefix] = [await directory(), await directory()];
  const { baseUrl } = await newAccount("npm-package");
  const { npm } = (await (await fetch(`${baseUrl}/packages`)).json()) as { npm: { url: string } };
  await execa("npm", ["install", "-g", "--no-audit", "--no-fund", "--prefix", prefix, npm.url]);

  const { stdout } = await execa(join(prefix, "bin/flash"), ["--version"]);
  expect(stdout).toBe(`flash ${EDGERUN_VERSION}`);
  await execa(join(prefix, "bin/flash"), ["init", "app"], { cwd: place });
  expect(await readdir(join(place, "app"))).toHaveLength(8);
  const installed = join(prefix, "lib/node_modules/edgerun");
  expect(await readdir(join(installed, "python/edgerun"))).toContain("__init__.py");
  expect(await readdir(join(installed, "explorer"))).toEqual(
    expect.arrayContaining(["index.html", "explorer.js", "swagger-ui-bundle.js", "LICENSE"]),
  );
});

test("a start loads the command line only", async ({ expect }) => {
  const place = await directory();
  await layOutCli(ROOT, place);
  const [run = ""] = (await readdir(place)).filter((name) => name.startsWith("flash-run-"));
  const modules = [...(await modulesAtStart(place, "flash.mjs")), ...(await modulesAtStart(place, run))];
  const folders = modules.map(
    (module) => /^cli\/\w+(?=\/)|^node_modules(?=\/zod\/)|^src\/.*/.exec(module)?.[0],
  );
  const known = [
    "cli/commands",
    "cli/core",
    "cli/project",
    "cli/terminal",
    "src/net/port.ts",
    "src/contract/version.ts",
    "src/std/errors.ts",
    "src/std/failure.ts",
  ];
  expect(new Set(folders.filter(Boolean))).toEqual(new Set(known));
});

/** Paths of the sources that are in a part of the command, and in those that it cannot do without. */
async function modulesAtStart(place: string, part: string): Promise<readonly string[]> {
  const text = await readFile(join(place, part), "utf8");
  const own = [...text.matchAll(/^\/\/ (\S+)$/gm)].map(([, module = ""]) => module);
  const needed = [...text.matchAll(/^(?:import|\} from) "\.\/(.+)";$/gm)].map(([, name = ""]) => name);
  const theirs = await Promise.all(needed.map(async (name) => await modulesAtStart(place, name)));
  return [...own, ...theirs.flat()];
}
