import { Command } from "commander";
import { createApp, deleteApp, listApps, showApp } from "../apps/apps.ts";
import type { Cli } from "../cli.ts";

export function appCommand(cli: Cli): Command {
  const app = new Command("app").description("List, make and delete apps.");
  app
    .command("list")
    .description("List your apps.")
    .option("--json", "print JSON")
    .action(() => listApps(cli));
  app
    .command("create <name>")
    .description("Make an app.")
    .option("--json", "print JSON")
    .action((name: string) => createApp(cli, name));
  app
    .command("get <name>")
    .description("Show an app's environments and builds.")
    .option("--json", "print JSON")
    .action((name: string) => showApp(cli, name));
  app
    .command("delete <name>")
    .description("Delete an app with its endpoints, environments and builds.")
    .option("-y, --yes", "do not ask")
    .option("--json", "print JSON")
    .action((name: string) => deleteApp(cli, name));
  return app;
}
