import { Command } from "commander";
import type { Cli } from "../core/cli.ts";

const apps = async () => await import("../apps/apps.ts");

export function appCommand(cli: Cli): Command {
  const app = new Command("app").description("List, make and delete apps.");
  app
    .command("list")
    .description("List your apps.")
    .option("--json", "print JSON")
    .action(async () => (await apps()).listApps(cli));
  app
    .command("create <name>")
    .description("Make an app.")
    .option("--json", "print JSON")
    .action(async (name: string) => (await apps()).createApp(cli, name));
  app
    .command("get <name>")
    .description("Show an app's environments and builds.")
    .option("--json", "print JSON")
    .action(async (name: string) => (await apps()).showApp(cli, name));
  app
    .command("delete <name>")
    .description("Delete an app with its endpoints, environments and builds.")
    .option("-y, --yes", "do not ask")
    .option("--json", "print JSON")
    .action(async (name: string) => (await apps()).deleteApp(cli, name));
  return app;
}
