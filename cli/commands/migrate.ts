/** `flash migrate`. */
import { Command } from "commander";
import type { Cli } from "../core/cli.ts";
import type { MigrateOptions } from "../migrate/migrate.ts";

const SOURCE_URL = "https://api.runpod.io";

export function migrateCommand(cli: Cli): Command {
  return new Command("migrate")
    .description("Recreate the endpoints, templates, volumes and secrets of a Runpod account.")
    .option("--from-url <url>", "where the account is; RUNPOD_API_KEY is its key", SOURCE_URL)
    .option("--apply", "create what is missing; otherwise it is only listed")
    .option("--secrets-from <file>", "values of secrets and registry logins, in the form of .env")
    .option("--json", "print JSON")
    .action(async (options: MigrateOptions) => {
      const { migrateAccount } = await import("../migrate/migrate.ts");
      await migrateAccount(cli, options);
    });
}
