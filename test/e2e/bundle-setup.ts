/** Builds what many test files start: the edge, and the `flash` command. */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { layOutCli } from "../../scripts/cli-bundle.ts";
import { builtEdge } from "../../scripts/standalone-bundle.ts";
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

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  project.provide("edgeBundle", await inTurn("edge-bundle", () => builtEdge(ROOT)));
  const home = await mkdtemp(join(tmpdir(), "flash-bundle-"));
  const command = join(home, "cli");
  await layOutCli(ROOT, command);
  await chmod(join(command, "flash.mjs"), 0o755);
  project.provide("flashBundle", command);
  return () => rm(home, { recursive: true });
}
