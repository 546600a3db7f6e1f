/** Builds the edge once for all tests that start a whole Edgerun, of whatever project. */
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { ensureEdgeBundle } from "../../scripts/start/bundle.ts";
import { inTurn } from "../support/turn.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Holds the Worker script, as `npm start` builds it. */
    edgeBundle: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The projects of one run are set up by one process.
  const directory = join(tmpdir(), `edgerun-bundle-${process.pid}`);
  const root = resolve(import.meta.dirname, "../..");
  await inTurn(directory, () => ensureEdgeBundle(root, directory, () => {}));
  project.provide("edgeBundle", directory);
  return () => rm(directory, { recursive: true, force: true });
}
