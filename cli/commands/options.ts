/** The option --port of commands that serve an app on this computer. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { portIssue } from "../../src/net/port.ts";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../core/failure.ts";

const DEFAULT_PORT = 8888;

export function portOption(description = "port; the next free one when it is taken"): Option {
  return new Option("-p, --port <number>", description)
    .default(DEFAULT_PORT)
    .env("FLASH_PORT")
    .argParser(readPort);
}

/** What neither an option nor the environment says may stand in `.env`, as for scripts that call the server. */
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
