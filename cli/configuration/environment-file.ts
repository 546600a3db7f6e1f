import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import type { Cli } from "../core/cli.ts";

const FILE_NAME = ".env";
/** Its directory is the root of a project: what is above belongs to something else. */
const ROOT_MARKER = ".git";

const FOREIGN = Symbol("file of another user");

export type EnvironmentFile = {
  readonly path: string;
  readonly entries: Readonly<Record<string, string | undefined>>;
};

/**
 * The first `.env` from the command's directory upward, to the root of its Git repository or the home directory. A file
 * that another user owns is passed over with a warning.
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
      terminal.warn(`${path} is ignored: another user owns it. Make it yours (chown) to have it read.`);
    const isLast =
      folder === home || dirname(folder) === folder || (await isThere(join(folder, ROOT_MARKER)));
    if (isLast) return undefined;
  }
}

/** Owner and content are of one opened file: nobody can put another in its place in between. */
async function readOwn(
  path: string,
  environment: Cli["environment"],
): Promise<string | typeof FOREIGN | undefined> {
  const file = await openIfThere(path);
  if (file === undefined || file === FOREIGN) return file;
  try {
    const found = await file.stat();
    // A directory of this name is a virtual environment to some.
    if (!found.isFile()) return undefined;
    return isTrustedOwner(found.uid, environment) ? await file.readFile("utf8") : FOREIGN;
  } finally {
    await file.close();
  }
}

/** This user, root, and behind `sudo` the user who called it. Windows knows no such owners. */
function isTrustedOwner(uid: number, environment: Cli["environment"]): boolean {
  const own = process.getuid?.();
  if (own === undefined || uid === own || uid === 0) return true;
  return own === 0 && environment["SUDO_UID"] === String(uid);
}

/** Without waiting for who would write to it, as a named pipe does. */
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

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
