/** `edgerun cp`. */
import { Command } from "commander";
import type { Cli } from "../core/cli.ts";

export function copyCommand(cli: Cli): Command {
  return new Command("cp")
    .description("Copy files and directories to or from a pod or worker.")
    .argument("<source>", "a path here, or <id>:<path> in a container")
    .argument("<destination>", "the same; one of the two is in a container")
    .action(async (source: string, destination: string) => {
      const { copy } = await import("../tunnel/copy/copy.ts");
      await copy(cli, source, destination);
    });
}
