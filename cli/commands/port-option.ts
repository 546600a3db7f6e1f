/** The option --port of commands that serve an app on this computer. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { problemOfPort } from "../../src/contract/port.ts";
import type { Cli } from "../cli.ts";
import { Failure } from "../failure.ts";

const DEFAULT_PORT = 8888;

export function portOption(text = "port; the next free one when it is taken"): Option {
  return new Option("-p, --port <number>", text).default(DEFAULT_PORT).env("FLASH_PORT").argParser(readPort);
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
  const problem = port && problemOfPort(port);
  if (problem) throw new Failure(`FLASH_PORT of ${file?.path} is ${JSON.stringify(port)}.`, [problem]);
  return { host: stored("host", "FLASH_HOST"), port: port === undefined ? undefined : Number(port) };
}

function readPort(text: string): number {
  const problem = problemOfPort(text);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
  return Number(text);
}
