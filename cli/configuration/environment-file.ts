import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import type { Cli } from "../core/cli.ts";
import { canAccess } from "../core/files.ts";

const FILE_NAME = ".env";
/** Marks the root of a repository, above which no file is read. */
const ROOT_MARKER = ".git";

const FOREIGN = Symbol("file of another user");

export type EnvironmentFile = {
  readonly path: string;
  readonly entries: Readonly<Record<string, string | undefined>>;
};

/**
 * The first `.env` from the command's directory upward, to the root of its Git repository or the home directory. A file
 * that another user owns is ignored with a warning.
 */
export async function findEnvironmentFile({
  directory,
  environment,
  terminal,
}: Pick<Cli, "directory" | "environment" | "terminal">): Promise<EnvironmentFile | undefined> {
  const home = environment["HOME"] || homedir();
  for (let folder = directory; ; folder = dirname(folder)) {
    const path = join(folder, FILE_NAME);
    const text = await readOwn(path, environment);
    if (typeof text === "string") return { path, entries: parseEnv(text) };
    if (text === FOREIGN)
      terminal.warn(`${path} is ignored: another user owns it. Take ownership (chown) to use it.`);
    const isLast =
      folder === home || dirname(folder) === folder || (await canAccess(join(folder, ROOT_MARKER)));
    if (isLast) return undefined;
  }
}

/** Owner and content are read from one open file, so that it cannot be replaced in between. */
async function readOwn(
  path: string,
  environment: Cli["environment"],
): Promise<string | typeof FOREIGN | undefined> {
  const file = await openIfThere(path);
  if (file === undefined || file === FOREIGN) return file;
  try {
    const found = await file.stat();
    // Some users call a virtual environment .env.
    if (!found.isFile()) return undefined;
    return isTrustedOwner(found.uid, environment) ? await file.readFile("utf8") : FOREIGN;
  } finally {
    await file.close();
  }
}

/** This user, root, and the caller of `sudo`. Windows has no such owners. */
function isTrustedOwner(uid: number, environment: Cli["environment"]): boolean {
  const own = process.getuid?.();
  if (own === undefined || uid === own || uid === 0) return true;
  return own === 0 && environment["SUDO_UID"] === String(uid);
}

/** Does not block on a named pipe. */
async function openIfThere(path: string): Promise<FileHandle | typeof FOREIGN | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) return undefined;
    const { uid } = await stat(path);
    if (code === "EACCES" && uid !== process.getuid?.()) return FOREIGN;
    throw error;
  }
}
