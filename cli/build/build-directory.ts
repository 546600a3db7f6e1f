/** Directories in `.flash/` where builds are assembled. */
import { mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import ignore from "ignore";
import { readIfThere } from "../core/files.ts";
import { ensureFlashDirectory, FLASH_DIRECTORY } from "../project/project.ts";
import { processExists } from "../project/process-owner.ts";

const BUILD_DIRECTORY = ".build";

/** A new directory for one build. */
export async function freshBuildDirectory(project: string): Promise<string> {
  return await freshDirectory(project, BUILD_DIRECTORY);
}

/**
 * A new directory in `.flash/`, named by this process, since other commands may run at the same time. Removes those of
 * processes that no longer exist.
 */
export async function freshDirectory(project: string, kind: string): Promise<string> {
  const directory = await ensureFlashDirectory(project);
  for (const name of await readdir(directory)) {
    const [pid = ""] = name.startsWith(`${kind}-`) ? name.slice(kind.length + 1).split("-") : [];
    if (/^\d+$/.test(pid) && !processExists(Number(pid))) await remove(join(directory, name));
  }
  return await mkdtemp(join(directory, `${kind}-${process.pid}-`));
}

/** Removes a build's directory, or keeps it as `.flash/.build`. */
export async function endBuildDirectory(
  project: string,
  directory: string,
  keepsDirectory: boolean,
): Promise<void> {
  const target = join(project, FLASH_DIRECTORY, BUILD_DIRECTORY);
  await remove(target);
  if (keepsDirectory) await rename(directory, target);
  else await remove(directory);
}

async function remove(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
}

/** Adds `.flash/` to the project's .gitignore, unless it is ignored already. */
export async function ignoreFlashDirectory(project: string): Promise<void> {
  const path = join(project, ".gitignore");
  const content = (await readIfThere(path))?.toString() ?? "";
  if (ignore().add(content).ignores(`${FLASH_DIRECTORY}/`)) return;
  const start = content === "" || content.endsWith("\n") ? content : `${content}\n`;
  await writeFile(path, `${start}${FLASH_DIRECTORY}/\n`);
}
