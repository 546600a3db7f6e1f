import { resolve } from "node:path";
import type { Command } from "commander";
import { Volumes } from "../volumes/volumes.ts";

export const VOLUMES_DIRECTORY = "/var/lib/edgerun-volumes";

/** `edgerun-agent volume add|list` */
export function addVolumeCommands(program: Command): void {
  const volume = program.command("volume").description("Network volumes on this host.");
  const place = ["--volumes <directory>", "where they are", VOLUMES_DIRECTORY] as const;

  volume
    .command("add <volumeId>")
    .description("Make a network volume here, as a directory that workers share.")
    .option(...place)
    .action(async (id: string, flags: { volumes: string }) => {
      say(await open(flags.volumes).create(id));
    });
  volume
    .command("list")
    .description("Print the ids of the network volumes that are here.")
    .option(...place)
    .action(async (flags: { volumes: string }) => {
      for (const id of await open(flags.volumes).ids()) say(id);
    });
}

function open(directory: string): Volumes {
  return new Volumes({ directory: resolve(directory), createsMissing: false });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
