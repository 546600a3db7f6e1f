/** Makes sure, before anything is started, that the state directory can be used by this user. */
import { accessSync, constants, mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { Failure } from "../src/std/failure.ts";

const USABLE = constants.R_OK | constants.W_OK;

/** Creates the directory if it does not exist. Throws a Failure that explains why it cannot be used. */
export function makeUsable(path: string): void {
  try {
    makeDirectories(path);
  } catch (error) {
    throw unusable(path, reasonOf(error));
  }
  const foreign = [".", ...readdirSync(path)].find((name) => !isUsable(join(path, name)));
  if (foreign === undefined) return;
  throw unusable(
    path,
    foreign === "." ? "you have no permission to write there" : `${foreign} in it belongs to another user`,
    `If you started it as root before, take ownership: sudo chown -R "$(id -un)" ${path}`,
  );
}

/** Creates one directory after the other, since a recursive mkdir never returns below /proc. */
function makeDirectories(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  if (found) throw new Error("it is a file");
  if (dirname(path) !== path) makeDirectories(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

function isUsable(path: string): boolean {
  try {
    accessSync(path, USABLE);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT"; // it has been removed
  }
}

const REASONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    EACCES: "you have no permission to write there",
    EPERM: "you have no permission to write there",
    EROFS: "its file system is read-only",
    ENOTDIR: "a part of the path is a file",
    ENOENT: "no directory can be made there",
    ENOSPC: "the disk is full",
  }),
);

function reasonOf(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return REASONS.get(code) ?? message;
}

function unusable(path: string, reason: string, ...advice: readonly string[]): Failure {
  return new Failure(`The state directory ${path} cannot be used: ${reason}.`, [
    ...advice,
    "Or choose another directory: npm start -- --state <directory>",
  ]);
}
