import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Has all that was written to the file system of a path put on its disk; false where that cannot be told. */
export async function syncDisk(path: string): Promise<boolean> {
  return await run("sync", ["--file-system", path]).then(
    () => true,
    () => false,
  );
}
