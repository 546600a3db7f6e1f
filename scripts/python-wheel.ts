/** The Python package as a wheel, with the `flash` command in it. */
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { execa } from "execa";
import { layOutCli } from "./cli-bundle.ts";

const PACKAGE = "sdk/python";
const NOT_BUILT_FROM = /^(__pycache__|\..*|tests)$/;

/** Builds the wheel into a directory and answers its path; the same sources give the same bytes. */
export async function buildPythonWheel(root: string, directory: string): Promise<string> {
  const builder = await ensureBuilder(root);
  const stage = await mkdtemp(join(tmpdir(), "edgerun-wheel-"));
  try {
    await layOutSources(root, stage);
    const built = join(stage, "dist");
    await execa(builder, ["-m", "hatchling", "build", "-t", "wheel", "-d", built], { cwd: stage });
    const [wheel] = await readdir(built);
    if (wheel === undefined) throw new Error("hatchling made no wheel.");
    await mkdir(directory, { recursive: true });
    await copyFile(join(built, wheel), join(directory, wheel));
    return join(directory, wheel);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

async function layOutSources(root: string, stage: string): Promise<void> {
  await cp(join(root, PACKAGE), stage, {
    recursive: true,
    filter: (source) => source === join(root, PACKAGE) || !NOT_BUILT_FROM.test(basename(source)),
  });
  await copyFile(join(root, "LICENSE"), join(stage, "LICENSE"));
  const cli = join(stage, "cli");
  await layOutCli(root, cli);
  await cp(cli, join(stage, "src/edgerun/_cli"), { recursive: true });
  await rm(cli, { recursive: true });
}

/** A Python with the build backend that pyproject.toml names; made once under .venv/. */
async function ensureBuilder(root: string): Promise<string> {
  const text = await readFile(join(root, PACKAGE, "pyproject.toml"), "utf8");
  const [, backend] = /^requires = \["([^"]+)"\]$/m.exec(text) ?? [];
  if (backend === undefined) throw new Error(`${PACKAGE}/pyproject.toml does not name its build backend.`);
  const folder = join(root, ".venv/wheel-builder");
  const marker = join(folder, "installed.txt");
  const python = join(folder, "bin/python");
  if ((await readFile(marker, "utf8").catch(() => "")) === backend) return python;
  await execa("python3", ["-m", "venv", "--clear", folder]);
  await execa(python, ["-m", "pip", "install", "--quiet", "--no-compile", backend]);
  await writeFile(marker, backend);
  return python;
}
