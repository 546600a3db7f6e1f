/** The example programs that the published clients bring along, made ready to run: only placeholders are set. */
import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const JS_PACKAGE = join(ROOT, "node_modules/runpod-sdk");
const REQUIREMENTS = join(ROOT, "test/clients/requirements.txt");
const SOURCES = join(ROOT, ".venv/sources");

/** What stands in an example, in quotes, and what takes its place. */
type Placeholders = Readonly<Record<string, string>>;

/** Lays out the examples of the npm package as its repository does, which has the build at dist/index.js. */
export async function layOutJsExamples(folder: string, placeholders: Placeholders): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await symlink(join(JS_PACKAGE, "dist/src"), join(folder, "dist"));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await fillIn(join(JS_PACKAGE, "examples"), join(folder, "examples"), placeholders);
}

/** Lays out the examples of the Python package's source archive, and a home where `runpod config` was run. */
export async function layOutPythonExamples(
  python: string,
  folder: string,
  apiKey: string,
  placeholders: Placeholders,
): Promise<void> {
  const source = await ensureSource(python);
  await fillIn(join(source, "examples/endpoints"), join(folder, "examples"), placeholders);
  await mkdir(join(folder, ".runpod"));
  await writeFile(join(folder, ".runpod/config.toml"), `[default]\napi_key = "${apiKey}"\n`);
}

async function fillIn(from: string, to: string, placeholders: Placeholders): Promise<void> {
  await cp(from, to, { recursive: true });
  for (const name of await readdir(to)) {
    let text = await readFile(join(to, name), "utf8");
    for (const [placeholder, value] of Object.entries(placeholders)) {
      text = text.replaceAll(`"${placeholder}"`, `"${value}"`);
    }
    await writeFile(join(to, name), text);
  }
}

/** The unpacked source archive of the client that requirements.txt names; fetched once. */
async function ensureSource(python: string): Promise<string> {
  const [, version] = /^runpod==(\S+)$/m.exec(await readFile(REQUIREMENTS, "utf8")) ?? [];
  const folder = join(SOURCES, `runpod-${version}`);
  if ((await readdir(folder).catch(() => [])).length > 0) return folder;
  const options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--dest", SOURCES];
  await execa(python, ["-m", "pip", "download", ...options, `runpod==${version}`]);
  await execa("tar", ["--extract", "--file", `${folder}.tar.gz`, "--directory", SOURCES]);
  return folder;
}
