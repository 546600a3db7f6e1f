/** Builds what many test files start: the edge, and the `flash` command. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { layOutCli } from "../../scripts/bundle/cli-bundle.ts";
import { buildPackages, packageFingerprint } from "../../scripts/bundle/packages.ts";
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

/** In a directory of its sources' name, so that what Node and Python have compiled of it serves the next run, too. */
async function builtCommand(): Promise<string> {
  const directory = join(COMMANDS, packageFingerprint(ROOT).slice(0, 16));
  if (!existsSync(directory)) await layOutCli(ROOT, directory);
  return directory;
}
