/** Files that may not be there. */
import { access, readFile } from "node:fs/promises";

/** Undefined where there is no file. */
export async function readIfThere(path: string): Promise<Buffer | undefined> {
  return await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  });
}

/** Whether a path can be accessed; `mode` is one of the constants R_OK, W_OK and X_OK of node:fs. */
export async function canAccess(path: string, mode?: number): Promise<boolean> {
  return await access(path, mode).then(
    () => true,
    () => false,
  );
}
