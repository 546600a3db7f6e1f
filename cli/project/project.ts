/** The project that a command runs in: its app's name, and its directory `.flash`. */
import { basename, join } from "node:path";
import type { Cli } from "../core/cli.ts";
import { EXIT_USAGE, Failure } from "../core/failure.ts";
import { chmod, mkdir } from "node:fs/promises";

/** The name that was given, else the base name of the project's directory; throws a Failure when it is none. */
export async function appNameOf(cli: Cli, given: string | undefined): Promise<string> {
  if (given !== undefined) return await checkedName("app", given);
  const name = basename(cli.directory);
  const checked = await check(name);
  if (checked.success) return checked.data;
  throw new Failure(
    `This directory's name cannot be the name of an app: ${JSON.stringify(name)} ${reasonOf(checked.error)}.`,
    ["Name the app with --app NAME."],
  );
}

/** A name of an app, an environment or an endpoint, as given on the command line. */
export async function checkedName(what: string, given: string): Promise<string> {
  const checked = await check(given);
  if (checked.success) return checked.data;
  const name = JSON.stringify(given);
  throw new Failure(`Not a name of an ${what}: ${name} ${reasonOf(checked.error)}.`, [], EXIT_USAGE);
}

/** The contract is loaded by commands that need it. */
async function check(name: string) {
  const { flashNameSchema } = await import("../../src/contract/flash/flash-names.ts");
  return flashNameSchema.safeParse(name);
}

function reasonOf({ issues: [issue] }: { readonly issues: readonly { readonly message: string }[] }): string {
  return issue?.message ?? "is not allowed";
}

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
