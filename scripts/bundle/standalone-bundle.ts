/**
 * What `flash dev --local` runs, as files beside the command:
 *
 *   standalone.mjs, guard-main.mjs   the program, and the guard that it starts
 *   edge/                            the built Worker script, migrations, and the files that it serves, the agent
 *                                    among them
 *   packages/                        what is fetched once on the user's computer: package.json and lockfile
 */
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { readEdgeBuild } from "../../standalone/edge-build.ts";
import { AGENT_NODE_MIN } from "../../src/contract/agent/agent-version.ts";
import { nodeProgram } from "./node-program.ts";
import { ensureEdgeBundle, fingerprintOf, writeEdgeBuild } from "./edge-bundle.ts";

/** Built edges, each under the fingerprint of its sources. */
const EDGES = "dist/edges";

/** Fills a directory; the same sources give the same bytes. */
export async function layOutStandalone(root: string, directory: string): Promise<void> {
  await bundlePrograms(root, directory);
  await layOutEdge(await builtEdge(root), join(root, "dist/assets"), join(directory, "edge"));
  await cp(join(root, "standalone/packages"), join(directory, "packages"), { recursive: true });
}

async function bundlePrograms(root: string, directory: string): Promise<void> {
  await build({
    ...nodeProgram(root, AGENT_NODE_MIN),
    entryPoints: { standalone: "standalone/main.ts", "guard-main": "standalone/guard-main.ts" },
    outdir: directory,
    outExtension: { ".js": ".mjs" },
    minifyWhitespace: true,
  });
}

async function layOutEdge(built: string, assets: string, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await cp(join(built, "index.js"), join(directory, "index.js"));
  await cp(assets, join(directory, "assets"), { recursive: true, filter: isOfLocalEdge });
  const { workerOptions, ...others } = await readEdgeBuild(built);
  const placed = { ...workerOptions, assets: { ...workerOptions.assets, directory: "assets" } };
  await writeEdgeBuild({ ...others, directory, workerOptions: placed });
}

/** The packages contain this edge, so it cannot contain them. */
function isOfLocalEdge(path: string): boolean {
  return !path.endsWith(".part") && !path.endsWith("/assets/packages");
}

/** The directory of the edge of the current sources. */
export async function builtEdge(root: string): Promise<string> {
  const directory = join(root, EDGES, fingerprintOf(root).slice(0, 16));
  // Builds no script if there is one, but updates the assets, which have other sources.
  if (existsSync(directory)) {
    await ensureEdgeBundle(root, directory, () => {});
    return directory;
  }
  await mkdir(dirname(directory), { recursive: true });
  const fresh = await mkdtemp(`${directory}-`);
  try {
    await ensureEdgeBundle(root, fresh, () => {});
    await rename(fresh, directory);
  } catch (error) {
    if (!existsSync(directory)) throw error; // another process was faster
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return directory;
}
