/** The directory where a build is put together. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import ignore from "ignore";

/** Files of the command in a project. */
export const FLASH_DIRECTORY = ".flash";

/** `.flash/.build`, empty, whatever an earlier build left there. */
export async function freshBuildDirectory(project: string): Promise<string> {
  const directory = join(project, FLASH_DIRECTORY, ".build");
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  return directory;
}

/** Adds `.flash/` to the project's .gitignore, unless it is ignored already. */
export async function ignoreFlashDirectory(project: string): Promise<void> {
  const path = join(project, ".gitignore");
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return "";
  });
  if (ignore().add(text).ignores(`${FLASH_DIRECTORY}/`)) return;
  const start = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  await writeFile(path, `${start}${FLASH_DIRECTORY}/\n`);
}
