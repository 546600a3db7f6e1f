/** Builds what many test files start: the edge, and the `flash` command. */
import { createHash } from "node:crypto";
import { existsSync, globSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { layOutCli } from "../../scripts/bundle/cli-bundle.ts";
import { buildPackages } from "../../scripts/bundle/packages.ts";
import { builtEdge } from "../../scripts/bundle/standalone-bundle.ts";
import { inTurn } from "../support/turn.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Holds the Worker script, as `npm start` builds it. */
    edgeBundle: string;
    /** Holds `flash.mjs` and what stands beside it. */
    flashBundle: string;
  }
}

const ROOT = resolve(import.meta.dirname, "../..");
const COMMANDS = join(ROOT, "node_modules/.cache/flash");

export async function setup(project: TestProject): Promise<void> {
  await inTurn("bundles", async () => {
    project.provide("edgeBundle", await builtEdge(ROOT));
    project.provide("flashBundle", await builtCommand());
    await buildPackages(ROOT); // they are served by every edge that starts from here on
  });
}

/** In a directory of its content's name, so that what Node and Python have compiled of it serves the next run, too. */
async function builtCommand(): Promise<string> {
  const fresh = join(COMMANDS, "fresh");
  await mkdir(COMMANDS, { recursive: true });
  await layOutCli(ROOT, fresh);
  const directory = join(COMMANDS, await fingerprintOf(fresh));
  if (existsSync(directory)) await rm(fresh, { recursive: true });
  else await rename(fresh, directory);
  return directory;
}

async function fingerprintOf(directory: string): Promise<string> {
  const hash = createHash("sha256");
  const entries = globSync("**", { cwd: directory, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const path of entries.map(({ parentPath, name }) => join(parentPath, name)).toSorted())
    hash.update(`${path}\n`).update(await readFile(path));
  return hash.digest("hex").slice(0, 16);
}
