/**
 * The Python package as a wheel, with the `flash` command in it. A wheel is a zip archive with a record of its files:
 * it is written here, so that no Python and no package index is needed where the edge is deployed from.
 */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zipSync, type Zippable } from "fflate";
import { parse } from "smol-toml";
import * as z from "zod";
import { EDGERUN_VERSION } from "../../src/contract/version.ts";

const PACKAGE = "sdk/python";
const NOT_SHIPPED = /(^|\/)(__pycache__|\.[^/]*)(\/|$)|\.py[co]$/;
/** The first day that a zip archive can name; all files have it, so that the same sources give the same bytes. */
const NO_TIME = "1980-01-01T00:00:00";

const projectSchema = z.object({
  project: z.object({
    name: z.string(),
    description: z.string(),
    license: z.string(),
    "requires-python": z.string(),
    dependencies: z.array(z.string()),
    scripts: z.record(z.string(), z.string()),
  }),
});
type Project = z.infer<typeof projectSchema>["project"];
type Files = ReadonlyMap<string, Uint8Array>;

export const WHEEL_FILE = `edgerun-${EDGERUN_VERSION}-py3-none-any.whl`;

/** Builds the wheel into a directory and returns its path; `cli` is where the command was laid out. */
export async function buildPythonWheel(root: string, cli: string, directory: string): Promise<string> {
  const source = join(root, PACKAGE);
  const toml = await readFile(join(source, "pyproject.toml"), "utf8");
  const { project } = projectSchema.parse(parse(toml));
  const info = `${project.name}-${EDGERUN_VERSION}.dist-info`;
  const files = new Map([
    ...(await filesIn(join(source, "src"), "")),
    ...(await filesIn(cli, `${project.name}/_cli/`)),
    [`${info}/METADATA`, metadata(project, await readFile(join(source, "README.md"), "utf8"))],
    [
      `${info}/WHEEL`,
      bytes("Wheel-Version: 1.0\nGenerator: edgerun\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
    ],
    [`${info}/entry_points.txt`, entryPoints(project)],
    [`${info}/licenses/LICENSE`, await readFile(join(root, "LICENSE"))],
  ]);
  const path = join(directory, WHEEL_FILE);
  await mkdir(directory, { recursive: true });
  await writeFile(path, archive(new Map([...files, [`${info}/RECORD`, record(files, info)]])));
  return path;
}

async function filesIn(directory: string, prefix: string): Promise<[string, Uint8Array][]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .filter((path) => !NOT_SHIPPED.test(path))
    .toSorted();
  return await Promise.all(
    paths.map(async (path): Promise<[string, Uint8Array]> => [
      prefix + path,
      await readFile(join(directory, path)),
    ]),
  );
}

function metadata(project: Project, readme: string): Uint8Array {
  return bytes(
    [
      "Metadata-Version: 2.4",
      `Name: ${project.name}`,
      `Version: ${EDGERUN_VERSION}`,
      `Summary: ${project.description}`,
      `License-Expression: ${project.license}`,
      "License-File: LICENSE",
      `Requires-Python: ${project["requires-python"]}`,
      ...project.dependencies.map((dependency) => `Requires-Dist: ${dependency}`),
      "Description-Content-Type: text/markdown",
      "",
      readme,
    ].join("\n"),
  );
}

function entryPoints({ scripts }: Project): Uint8Array {
  const lines = Object.entries(scripts).map(([name, target]) => `${name} = ${target}\n`);
  return bytes(`[console_scripts]\n${lines.join("")}`);
}

function record(files: Files, info: string): Uint8Array {
  const lines = [...files].map(([path, content]) => {
    const hash = createHash("sha256").update(content).digest("base64url");
    return `${path},sha256=${hash},${content.length}\n`;
  });
  return bytes(`${lines.join("")}${info}/RECORD,,\n`);
}

function archive(files: Files): Uint8Array {
  const entries = [...files].map(([path, content]): [string, Zippable[string]] => [path, content]);
  return zipSync(Object.fromEntries(entries), { mtime: NO_TIME });
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
