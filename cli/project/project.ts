/** The project that a command runs in: its app's name, and its directory `.flash`. */
import { basename, join } from "node:path";
import type { Cli } from "../core/cli.ts";
import { EXIT_USAGE, Failure } from "../../src/std/failure.ts";
import { chmod, mkdir } from "node:fs/promises";

/** The given name, else that of the project's directory; throws a Failure when it is invalid. */
export async function appNameOf(cli: Cli, given: string | undefined): Promise<string> {
  if (given !== undefined) return await checkedName("app", given);
  const name = basename(cli.directory);
  const issue = await issueOf(name);
  if (issue === undefined) return name;
  throw new Failure(
    `The name of this directory cannot be the name of an app: ${JSON.stringify(name)} ${issue}.`,
    ["Name the app with --app NAME."],
  );
}

/** Validates a name from the command line; `what` is what it names. */
export async function checkedName(what: string, given: string): Promise<string> {
  const issue = await issueOf(given);
  if (issue === undefined) return given;
  throw new Failure(`Not a valid name of an ${what}: ${JSON.stringify(given)} ${issue}.`, [], EXIT_USAGE);
}

/** Loads the contract only in commands that need it. */
async function issueOf(name: string): Promise<string | undefined> {
  const { flashNameIssue } = await import("../../src/contract/flash/flash-names.ts");
  return flashNameIssue(name);
}

/** The directory of the command in a project. */
export const FLASH_DIRECTORY = ".flash";

/** The directory contains logs, code and data of the app. */
const OWNER_ONLY = 0o700;

/** Creates the directory where it is missing, closed to other users; returns its path. */
export async function ensureFlashDirectory(project: string): Promise<string> {
  const path = join(project, FLASH_DIRECTORY);
  await mkdir(path, { recursive: true, mode: OWNER_ONLY });
  // Earlier versions created it open. That of another user, in a shared project, stays as it is.
  await chmod(path, OWNER_ONLY).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EPERM") throw error;
  });
  return path;
}
