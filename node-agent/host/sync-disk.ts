import { runCommand } from "./command.ts";

/** A large file system may take minutes. */
const NO_LIMIT_MS = 0;

/** Flushes the file system of a path to its disk; false where that fails. */
export async function syncDisk(path: string): Promise<boolean> {
  const end = await runCommand("sync", ["--file-system", path], NO_LIMIT_MS);
  return end.kind === "ended" && end.code === 0;
}
