/** Options that several commands have. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { portIssue } from "../../src/net/port.ts";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";
import type { WaitSettings } from "../deploy/worker-wait.ts";

const DEFAULT_PORT = 8888;

export function portOption(description = "port; the next free one when it is taken"): Option {
  return new Option("-p, --port <number>", description)
    .default(DEFAULT_PORT)
    .env("FLASH_PORT")
    .argParser(readPort);
}

/** Reads host and port from `.env` where neither an option nor the environment sets them. */
export async function storedSettings(
  cli: Cli,
  command: Command,
): Promise<{ readonly host: string | undefined; readonly port: number | undefined }> {
  const { findEnvironmentFile } = await import("../configuration/environment-file.ts");
  const file = await findEnvironmentFile(cli);
  const stored = (option: string, name: string): string | undefined =>
    command.getOptionValueSource(option) === "default" ? file?.entries[name] || undefined : undefined;
  const port = stored("port", "FLASH_PORT");
  const problem = port && portIssue(port);
  if (problem) throw new Failure(`FLASH_PORT of ${file?.path} is ${JSON.stringify(port)}.`, [problem]);
  return { host: stored("host", "FLASH_HOST"), port: port === undefined ? undefined : Number(port) };
}

function readPort(value: string): number {
  const problem = portIssue(value);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
  return Number(value);
}

/** Parses a comma-separated list and adds it to the earlier values of the option. */
export function listOption(value: string, before: readonly string[]): readonly string[] {
  const names = value.split(",").map((word) => word.trim());
  return [...before, ...names.filter((word) => word !== "")];
}

/** Longer than workers may take to start. */
const TIMEOUT_SECONDS = 600;

export type WaitFlags = { readonly wait: boolean; readonly check: boolean; readonly timeout: number };

/** Adds the options of commands that wait for workers. */
export function addWaitOptions(command: Command): Command {
  return command
    .option("--no-wait", "do not wait until workers are ready")
    .option("--no-check", "start no worker only to see whether it can start")
    .option("--timeout <seconds>", "how long to wait for them", readSeconds, TIMEOUT_SECONDS);
}

export function waitSettingsOf({ wait, check, timeout }: WaitFlags): WaitSettings {
  return { limitSeconds: wait ? timeout : 0, hasTrials: check };
}

/** Throws unless it is a whole number above 0. */
export function readSeconds(value: string): number {
  const seconds = Number(value);
  if (Number.isInteger(seconds) && seconds > 0) return seconds;
  throw new InvalidArgumentError("It must be a whole number of seconds above 0.");
}
