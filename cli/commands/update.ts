import { Command } from "commander";
import type { Cli } from "../core/cli.ts";
import type { UpdateOptions } from "../deploy/update.ts";
import { addWaitOptions, type WaitFlags, waitLimitOf } from "./wait-options.ts";

export function updateCommand(cli: Cli): Command {
  const command = new Command("update")
    .description("Bring the endpoints in line with the last build, without building.")
    .option("-e, --env <name>", "environment (default: the app's only one, or production)")
    .option("-a, --app <name>", "app (default: name of this directory)")
    .option("--prune", "delete endpoints that the app no longer has");
  return addWaitOptions(command)
    .option("-y, --yes", "do not ask")
    .option("--json", "print JSON")
    .action(async (options: UpdateOptions & WaitFlags) => {
      const { updateEndpoints } = await import("../deploy/update.ts");
      await updateEndpoints(cli, { ...options, waitSeconds: waitLimitOf(options) });
    });
}
