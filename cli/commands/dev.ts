/** `flash dev`: a local server whose functions run on workers, with the code as it is at that moment. */
import { Command, InvalidArgumentError, Option } from "commander";
import { problemOfPort } from "../../src/contract/port.ts";
import type { Cli } from "../cli.ts";
import { Failure } from "../failure.ts";
import { appNameOf } from "../project.ts";

const DEFAULT_HOST = "localhost";
const DEFAULT_PORT = 8888;

type DevFlags = {
  readonly host: string;
  readonly port: number;
  readonly reload: boolean;
  readonly autoProvision?: boolean;
  readonly local?: boolean;
  readonly runtime?: "docker" | "process";
  readonly app?: string;
  readonly python?: string;
};

/** Also under the name that it had for people who come from elsewhere. */
export function devCommand(cli: Cli, name = "dev"): Command {
  return new Command(name)
    .description("Serve the app's functions on this computer; they run on workers, and follow every change.")
    .addOption(new Option("--host <host>", "where to listen").default(DEFAULT_HOST).env("FLASH_HOST"))
    .addOption(
      new Option("-p, --port <number>", "port; the next free one when it is taken")
        .default(DEFAULT_PORT)
        .env("FLASH_PORT")
        .argParser(parsePort),
    )
    .option("--reload", "follow changes of files (default)", true)
    .option("--no-reload", "serve the app as it is now")
    .option("--auto-provision", "make all live endpoints at once, not each at its first call")
    .option("--local", "run workers on this computer: needs no service, no account, no GPU")
    .addOption(
      new Option("--runtime <kind>", "with --local: how workers run (default: process)").choices([
        "docker",
        "process",
      ]),
    )
    .option("-a, --app <name>", "app (default: name of this directory)")
    .option("--python <path>", "interpreter that reads the app")
    .option("-y, --yes", "do not ask")
    .action(async (flags: DevFlags, command: Command) => {
      const { dev } = await import("../dev/dev.ts");
      await dev(cli, {
        appName: await appNameOf(cli, flags.app),
        ...(await whereToListen(cli, flags, command)),
        reloads: flags.reload,
        provisionsAll: flags.autoProvision ?? false,
        python: flags.python,
        ...(flags.local ? { local: { runtime: flags.runtime ?? "process" } } : {}),
      });
    });
}

/** What neither an option nor the environment says may stand in `.env`, as for scripts that call the server. */
async function whereToListen(
  cli: Cli,
  { host, port }: DevFlags,
  command: Command,
): Promise<Pick<DevFlags, "host" | "port">> {
  const { findEnvironmentFile } = await import("../configuration/environment-file.ts");
  const file = await findEnvironmentFile(cli.directory);
  const stored = (option: string, name: string): string | undefined =>
    command.getOptionValueSource(option) === "default" ? file?.entries[name] : undefined;
  const storedPort = stored("port", "FLASH_PORT");
  const problem = storedPort && problemOfPort(storedPort);
  if (problem) throw new Failure(`FLASH_PORT of ${file?.path} is ${JSON.stringify(storedPort)}.`, [problem]);
  return { host: stored("host", "FLASH_HOST") || host, port: storedPort ? Number(storedPort) : port };
}

function parsePort(text: string): number {
  const problem = problemOfPort(text);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
  return Number(text);
}
