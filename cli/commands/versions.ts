/** `flash releases`, `flash diff` and `flash rollback`: the versions of what is deployed. */
import { Command, InvalidArgumentError } from "commander";
import type { Cli } from "../core/cli.ts";
import type { VersionOptions } from "../releases/versions.ts";
import { addWaitOptions, type WaitFlags, waitSettingsOf } from "./options.ts";

export function versionsCommand(cli: Cli): Command {
  return addTargetOptions(new Command("releases"))
    .description("List the versions of endpoints: who made them, when, and what changed.")
    .option("--json", "print JSON")
    .action(async (options: VersionOptions) => {
      const { listReleases } = await import("../releases/releases.ts");
      await listReleases(cli, options);
    });
}

export function diffCommand(cli: Cli): Command {
  return addTargetOptions(new Command("diff"))
    .description("Show what differs between two versions of an endpoint.")
    .argument("<from>", "version, such as v6", readVersion)
    .argument("<to>", "version, such as v7", readVersion)
    .option("--json", "print JSON")
    .action(async (from: number, to: number, options: VersionOptions) => {
      const { showDiff } = await import("../releases/releases.ts");
      await showDiff(cli, { ...options, from, to });
    });
}

export function rollbackCommand(cli: Cli): Command {
  const command = addTargetOptions(new Command("rollback"))
    .description("Deploy the build of an earlier version again.")
    .argument("[version]", "version, such as v6 (default: the last one with another build)", readVersion);
  return addWaitOptions(command)
    .option("--json", "print JSON")
    .action(async (version: number | undefined, options: VersionOptions & WaitFlags) => {
      const { deployEarlierBuild } = await import("../releases/rollback.ts");
      await deployEarlierBuild(cli, { ...options, version, waiting: waitSettingsOf(options) });
    });
}

function addTargetOptions(command: Command): Command {
  return command
    .option("-e, --env <name>", "environment (default: the app's only one, or production)")
    .option("-a, --app <name>", "app (default: name of this directory)")
    .option("--endpoint <name>", "endpoint (default: all, or the app's only one)");
}

function readVersion(value: string): number {
  const number = Number(value.replace(/^v/i, ""));
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a version, such as v6.");
}
