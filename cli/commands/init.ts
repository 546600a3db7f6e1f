import { Command } from "commander";
import type { Cli } from "../core/cli.ts";

export function initCommand(cli: Cli): Command {
  return new Command("init")
    .description("Lay out a new app.")
    .argument("[project]", "directory to make, or . for this one")
    .option("-f, --force", "overwrite files without asking")
    .option("-y, --yes", "the same")
    .action(async (project: string | undefined, _flags, command: Command) => {
      if (project === undefined) return command.outputHelp();
      const { initProject } = await import("../skeleton/init.ts");
      await initProject(cli, project);
    });
}
