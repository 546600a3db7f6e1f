/**
 * The edge as it was built: a directory with the Worker script (`index.js`) and the options of the runtime (`edge.json`).
 * Running it needs no tools of Cloudflare.
 */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Migration } from "./migrations.ts";

export const EDGE_BUILD_FILE = "edge.json";

export type EdgeBuild = {
  readonly directory: string;
  readonly workerOptions: WorkerOptions;
  readonly migrations: readonly Migration[];
  /** Script of the Worker that applies the migrations. */
  readonly migrator: string;
};

/** Options of Miniflare, derived from wrangler.toml. */
export type WorkerOptions = {
  readonly bindings?: Readonly<Record<string, string>>;
  readonly assets?: { readonly directory: string };
  readonly d1Databases: Readonly<Record<string, { readonly id: string }>>;
  readonly compatibilityDate: string;
};

/** Reads a build; paths of files are relative to its directory. */
export async function readEdgeBuild(directory: string): Promise<EdgeBuild> {
  const { workerOptions, ...others } = JSON.parse(
    await readFile(join(directory, EDGE_BUILD_FILE), "utf8"),
  ) as Omit<EdgeBuild, "directory">;
  const { assets } = workerOptions;
  const placed = assets && { ...assets, directory: resolve(directory, assets.directory) };
  return { directory, ...others, workerOptions: { ...workerOptions, ...(placed && { assets: placed }) } };
}
