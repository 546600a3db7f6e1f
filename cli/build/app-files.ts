/** Puts the files of an app where they are packed from. */
import { chmod, copyFile, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { MANIFEST_FILE } from "../../src/contract/flash/flash-manifest.ts";
import { Failure } from "../core/failure.ts";
import { SDK_PACKAGE } from "../requirements/exclusions.ts";
import type { GeneratedFile } from "./handler-files.ts";
import type { ExecutionContext } from "../requirements/installer.ts";
import type { ProjectFile } from "./project-files.ts";

/** Names that the build gives to files of its own must be free. */
export function checkNamesFree(files: readonly ProjectFile[], generated: readonly GeneratedFile[]): void {
  const taken = new Set([MANIFEST_FILE, `${SDK_PACKAGE}.py`, ...generated.map(({ path }) => path)]);
  const inTheWay = files.filter(({ path }) => taken.has(path) || path.startsWith(`${SDK_PACKAGE}/`));
  if (inTheWay.length === 0) return;
  throw new Failure("Files of the project have names that the build needs for its own.", [
    ...inTheWay.map(({ path }) => path),
    "Rename them.",
  ]);
}

/**
 * Copies an app over installed packages. A module of the app takes the place of an installed package of its name, as
 * it does on the person's computer; the names of those are returned.
 */
export async function copyApp(
  files: readonly ProjectFile[],
  into: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const installed = new Set(await readdir(into));
  const modules = new Set(files.flatMap(({ path }) => moduleOf(path)));
  const replaced = [...modules].filter((name) => installed.has(name) || installed.has(`${name}.py`));
  for (const name of replaced) {
    await rm(join(into, name), { recursive: true, force: true });
    await rm(join(into, `${name}.py`), { force: true });
  }
  for (const { path, source, isExecutable } of files) {
    signal.throwIfAborted();
    const target = join(into, path);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(source, target);
    await chmod(target, isExecutable ? 0o755 : 0o644);
  }
  return replaced.sort();
}

/** Writes Python files and has the interpreter read them. */
export async function writeHandlers(
  context: ExecutionContext,
  python: string,
  handlers: readonly GeneratedFile[],
  into: string,
): Promise<void> {
  for (const { path, text } of handlers) await writeFile(join(into, path), text);
  const script =
    "import sys\nfor path in sys.argv[1:]: compile(open(path, encoding='utf-8').read(), path, 'exec')";
  const { environment, signal } = context;
  const result = await execa(python, ["-I", "-c", script, ...handlers.map(({ path }) => path)], {
    cwd: into,
    env: environment,
    extendEnv: false,
    cancelSignal: signal,
    reject: false,
  });
  signal.throwIfAborted();
  if (result.exitCode !== 0) {
    throw new Failure(`${python} cannot read the generated handlers.`, result.stderr.split("\n").slice(-5));
  }
}

/** The top-level module that a file makes, if it makes one. */
function moduleOf(path: string): string[] {
  const name = /^([^/]+)\.py$|^([^/]+)\/__init__\.py$/.exec(path);
  return name ? [name[1] ?? name[2] ?? ""] : [];
}
