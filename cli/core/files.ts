/** Files that may not be there, and files of a directory. */
import { access, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

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

/** Paths of all files within, with forward slashes, sorted. */
export async function filesOf(directory: string): Promise<string[]> {
  const found: string[] = [];
  const enter = async (path: string): Promise<void> => {
    for (const entry of await readdir(join(directory, path), { withFileTypes: true })) {
      const inner = path === "" ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory()) await enter(inner);
      else found.push(inner);
    }
  };
  await enter("");
  return found.sort();
}
