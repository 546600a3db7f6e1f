import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";

/** Files of the command in a project. */
export const FLASH_DIRECTORY = ".flash";

/** Logs, code and data of the app are in it. */
const OWNER_ONLY = 0o700;

/** Makes sure that a project has the directory, closed to other users of the computer; answers its path. */
export async function ensureFlashDirectory(project: string): Promise<string> {
  const path = join(project, FLASH_DIRECTORY);
  await mkdir(path, { recursive: true, mode: OWNER_ONLY });
  // One of an earlier version was open. That of somebody else, in a shared project, is not ours to close.
  await chmod(path, OWNER_ONLY).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EPERM") throw error;
  });
  return path;
}
