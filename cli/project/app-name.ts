/** The app that a command is about. */
import { basename } from "node:path";
import type { Cli } from "../core/cli.ts";
import { EXIT_USAGE, Failure } from "../core/failure.ts";

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
