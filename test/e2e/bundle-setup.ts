/** Builds the edge once for all tests that start a whole Edgerun. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { ensureEdgeBundle } from "../../scripts/start/bundle.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Holds the Worker script, as `npm start` builds it. */
    edgeBundle: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), "edgerun-bundle-"));
  await ensureEdgeBundle(resolve(import.meta.dirname, "../.."), directory, () => {});
  project.provide("edgeBundle", directory);
  return () => rm(directory, { recursive: true });
}
