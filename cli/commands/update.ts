import { Command } from "commander";
import type { Cli } from "../cli.ts";
import type { UpdateOptions } from "../deploy/update.ts";

export function updateCommand(cli: Cli): Command {
  return new Command("update")
    .description("Bring the endpoints in line with the last build, without building.")
    .option("-e, --env <name>", "environment (default: the app's only one, or production)")
    .option("-a, --app <name>", "app (default: name of this directory)")
    .option("--prune", "delete endpoints that the app no longer has")
    .option("-y, --yes", "do not ask")
    .option("--json", "print JSON")
    .action(async (options: UpdateOptions) => {
      const { updateEndpoints } = await import("../deploy/update.ts");
      await updateEndpoints(cli, options);
    });
}
