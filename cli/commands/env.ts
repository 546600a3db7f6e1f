import { Command, Option } from "commander";
import type { Cli } from "../core/cli.ts";
import { appNameOf, checkedName } from "../project/app-name.ts";

const environments = async () => await import("../apps/environments.ts");

type Flags = { readonly app?: string };

export function envCommand(cli: Cli): Command {
  const env = new Command("env").description("List, make and delete environments of an app.");
  env
    .command("list")
    .description("List the environments of an app.")
    .addOption(appOption())
    .option("--json", "print JSON")
    .action(async ({ app }: Flags) =>
      (await environments()).listEnvironments(cli, await appNameOf(cli, app)),
    );
  env
    .command("create <name>")
    .description("Make an environment, and its app where there is none.")
    .addOption(appOption())
    .option("--json", "print JSON")
    .action(async (name: string, { app }: Flags) => {
      const { createEnvironment } = await environments();
      await createEnvironment(cli, await appNameOf(cli, app), await checkedName("environment", name));
    });
  env
    .command("get <name>")
    .description("Show what runs in an environment.")
    .addOption(appOption())
    .option("--json", "print JSON")
    .action(async (name: string, { app }: Flags) =>
      (await environments()).showEnvironment(cli, await appNameOf(cli, app), name),
    );
  env
    .command("delete <name>")
    .description("Delete an environment with all its endpoints.")
    .addOption(appOption())
    .option("-y, --yes", "do not ask")
    .option("--json", "print JSON")
    .action(async (name: string, { app }: Flags) =>
      (await environments()).deleteEnvironment(cli, await appNameOf(cli, app), name),
    );
  return env;
}

function appOption(): Option {
  return new Option("-a, --app <name>", "app (default: name of this directory)");
}
