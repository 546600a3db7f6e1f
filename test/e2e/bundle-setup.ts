/** Builds the edge once for all tests that start a whole Edgerun, and for the bundles of the command. */
import { resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { builtEdge } from "../../scripts/standalone-bundle.ts";
import { inTurn } from "../support/turn.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Holds the Worker script, as `npm start` builds it. */
    edgeBundle: string;
  }
}

export async function setup(project: TestProject): Promise<void> {
  const directory = await inTurn("edge-bundle", () => builtEdge(resolve(import.meta.dirname, "../..")));
  project.provide("edgeBundle", directory);
}
