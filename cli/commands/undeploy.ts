import { Command } from "commander";
import type { Cli } from "../core/cli.ts";
import { appNameOf } from "../project/app-name.ts";
import type { UndeployOptions } from "../apps/undeploy.ts";

type Flags = Omit<UndeployOptions, "app" | "name"> & { readonly app?: string };

export function undeployCommand(cli: Cli): Command {
  return new Command("undeploy")
    .description("Delete deployed endpoints.")
    .argument("[name]", "name or id of an endpoint; `list` shows them")
    .option("-a, --app <name>", "app (default: name of this directory)")
    .option("-e, --env <name>", "environment (default: the app's only one)")
    .option("--all", "delete all endpoints of the environment")
    .option("-i, --interactive", "choose from a list")
    .option("--cleanup-stale", "forget endpoints that the service no longer has")
    .option("-f, --force", "do not ask; with --yes not even for --all")
    .option("-y, --yes", "do not ask")
    .option("--json", "print JSON")
    .action(async (name: string | undefined, { app, ...flags }: Flags) => {
      const { undeploy } = await import("../apps/undeploy.ts");
      await undeploy(cli, { ...flags, name, app: await appNameOf(cli, app) });
    });
}
