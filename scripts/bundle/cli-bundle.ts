/**
 * The `flash` command as a file that plain Node runs, with its parts, the Python package, the API explorer and a local
 * Edgerun beside it.
 */
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { nodeProgram, REQUIRE } from "./node-program.ts";
import { layOutStandalone } from "./standalone-bundle.ts";

/** The oldest Node that the command supports. */
const NODE_MIN = "20.19";
const FILE_NAME = "flash.mjs";
/** The same program by its second name, which it finds in the name of the file. */
const SECOND_NAME = "edgerun.mjs";
const SKELETON = "cli/configuration/skeleton";
const EXPLORER = "cli/server/explorer";
const SWAGGER_UI = "node_modules/swagger-ui-dist";
const SWAGGER_UI_FILES = ["swagger-ui-bundle.js", "swagger-ui.css", "LICENSE", "NOTICE"];
const PYTHON_PACKAGE = "sdk/python/src/edgerun";
const NOT_SHIPPED = /(^|\/)(__pycache__|\.[^/]*|_cli)$|\.pyc$/;

/** Lays out `flash.mjs` and what stands beside it in a directory; the same sources give the same bytes. */
export async function layOutCli(root: string, directory: string): Promise<void> {
  await mkdir(dirname(directory), { recursive: true });
  const fresh = await mkdtemp(`${directory}-`);
  await layOut(root, fresh);
  // A command may be running from there; its files are missing only between two renames.
  const stale = `${fresh}-stale`;
  if (existsSync(directory)) await rename(directory, stale);
  await rename(fresh, directory);
  await rm(stale, { recursive: true, force: true });
}

async function layOut(root: string, directory: string): Promise<void> {
  await bundleCli(root, directory);
  await cp(join(root, EXPLORER), join(directory, "explorer"), { recursive: true });
  for (const name of SWAGGER_UI_FILES)
    await cp(join(root, SWAGGER_UI, name), join(directory, "explorer", name));
  await layOutStandalone(root, join(directory, "standalone"));
  if (existsSync(join(root, PYTHON_PACKAGE)))
    await cp(join(root, PYTHON_PACKAGE), join(directory, "python", "edgerun"), {
      recursive: true,
      filter: (source) => !NOT_SHIPPED.test(source.slice(root.length)),
    });
}

/** In parts: a command loads what it needs. All are in one directory, since they look for files beside them. */
async function bundleCli(root: string, directory: string): Promise<void> {
  await build({
    // Its lines stay too: users are asked to report them.
    ...nodeProgram(root, NODE_MIN),
    entryPoints: { flash: join(root, "cli/main.ts") },
    outdir: directory,
    outExtension: { ".js": ".mjs" },
    splitting: true,
    chunkNames: "flash-[name]-[hash]",
    define: {
      FLASH_SKELETON: JSON.stringify(JSON.stringify(await readSkeleton(root))),
      __filename: "import.meta.filename",
    },
    banner: { js: `#!/usr/bin/env node\n${REQUIRE}` },
  });
  await writeFile(join(directory, SECOND_NAME), `#!/usr/bin/env node\nimport "./${FILE_NAME}";\n`);
  for (const name of [FILE_NAME, SECOND_NAME]) await chmod(join(directory, name), 0o755);
}

async function readSkeleton(root: string): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(join(root, SKELETON))).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(root, SKELETON, name), "utf8")));
  return Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ""]));
}
