import { Command, Option } from "commander";
import {
  createEnvironment,
  deleteEnvironment,
  listEnvironments,
  showEnvironment,
} from "../apps/environments.ts";
import type { Cli } from "../cli.ts";
import { appNameOf, checkedName } from "../project.ts";

type Flags = { readonly app?: string };

export function envCommand(cli: Cli): Command {
  const env = new Command("env").description("List, make and delete environments of an app.");
  env
    .command("list")
    .description("List the environments of an app.")
    .addOption(appOption())
    .option("--json", "print JSON")
    .action(({ app }: Flags) => listEnvironments(cli, appNameOf(cli, app)));
  env
    .command("create <name>")
    .description("Make an environment, and its app where there is none.")
    .addOption(appOption())
    .option("--json", "print JSON")
    .action((name: string, { app }: Flags) =>
      createEnvironment(cli, appNameOf(cli, app), checkedName("environment", name)),
    );
  env
    .command("get <name>")
    .description("Show what runs in an environment.")
    .addOption(appOption())
    .option("--json", "print JSON")
    .action((name: string, { app }: Flags) => showEnvironment(cli, appNameOf(cli, app), name));
  env
    .command("delete <name>")
    .description("Delete an environment with all its endpoints.")
    .addOption(appOption())
    .option("-y, --yes", "do not ask")
    .option("--json", "print JSON")
    .action((name: string, { app }: Flags) => deleteEnvironment(cli, appNameOf(cli, app), name));
  return env;
}

function appOption(): Option {
  return new Option("-a, --app <name>", "app (default: name of this directory)");
}
