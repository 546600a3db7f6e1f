import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { EDGE_BUILD_FILE, type EdgeBuild } from "../../standalone/edge-build.ts";
import type { Migration } from "../../standalone/migrations.ts";
import { buildAssets, digestOf } from "./assets.ts";
import { Failure } from "../../src/std/failure.ts";

/** Where a state directory has the Worker script. */
export const BUNDLE_FOLDER = "edge-bundle";
/** The sources of the built edge. */
const SOURCES = [
  "src/**/*",
  "drizzle/*.sql",
  "standalone/migrat*.ts",
  "wrangler.toml",
  "package-lock.json",
  "tsconfig.base.json",
];
/** Lies beside the script, and names the sources that it was built from. */
const STAMP_FILE = "built-from";

/** Set in the environment of wrangler when it must not build the files that the edge serves. */
export const ASSETS_ARE_BUILT = "EDGERUN_ASSETS_ARE_BUILT";

const QUIET = { WRANGLER_SEND_METRICS: "false", WRANGLER_HIDE_BANNER: "true", CI: "1" };

type BuildFailure = Error & { readonly stdout: string; readonly stderr: string };

/** Makes sure that the directory holds the Worker script of the current sources; reports when it builds. */
export async function ensureEdgeBundle(
  root: string,
  directory: string,
  say: (line: string) => void,
): Promise<void> {
  await buildAssets(root);
  const sources = fingerprintOf(root);
  const stampPath = join(directory, STAMP_FILE);
  if ((await readFile(stampPath, "utf8").catch(() => "")) === sources) return;
  say("Building the edge ...");
  await rm(stampPath, { force: true });
  await buildEdgeBundle(root, directory);
  await writeEdgeBuild(await edgeBuild(root, directory));
  await writeFile(stampPath, sources);
}

/** The runtime's configuration for the script in that directory; the assets are those of the sources. */
export async function edgeBuild(root: string, directory: string): Promise<EdgeBuild> {
  // Takes a second to load, which a start with a built edge saves.
  const { unstable_getMiniflareWorkerOptions } = await import("wrangler");
  const { workerOptions } = unstable_getMiniflareWorkerOptions(join(root, "wrangler.toml"));
  const { rootPath: _, ...options } = workerOptions as EdgeBuild["workerOptions"] & { rootPath?: string };
  const migrations = await readMigrations(join(root, "drizzle"));
  return { directory, workerOptions: options, migrations, migrator: await migratorScript(root) };
}

async function migratorScript(root: string): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["standalone/migrator.ts"],
    bundle: true,
    format: "esm",
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

/** Writes it where `readEdgeBuild` finds it. */
export async function writeEdgeBuild({ directory, ...build }: EdgeBuild): Promise<void> {
  await writeFile(join(directory, EDGE_BUILD_FILE), `${JSON.stringify(build)}\n`);
}

/** The migrations in a directory, in their order. */
export async function readMigrations(directory: string): Promise<readonly Migration[]> {
  const { unstable_splitSqlQuery } = await import("wrangler");
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
  return names.map((name, index) => ({ name, statements: unstable_splitSqlQuery(texts[index] ?? "") }));
}

/** Differs whenever a source differs. */
export function fingerprintOf(root: string): string {
  return digestOf(root, SOURCES);
}

/** Builds the Worker script exactly as a deployment would, offline. */
async function buildEdgeBundle(root: string, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
  const args = [wrangler, "deploy", "--dry-run", "--outdir", directory];
  const env = { ...process.env, [ASSETS_ARE_BUILT]: "1", ...QUIET };
  await new Promise<void>((resolve, reject) => {
    execFile(process.execPath, args, { cwd: root, env }, (error, stdout, stderr) => {
      if (!error) resolve();
      else reject(new Failure("The edge could not be built.", reasonOf({ ...error, stdout, stderr })));
    });
  });
}

function reasonOf({ stdout, stderr }: Pick<BuildFailure, "stdout" | "stderr">): readonly string[] {
  return `${stdout}\n${stderr}`.trim().split("\n");
}
