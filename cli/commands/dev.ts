/** `flash dev`: a local server whose functions run on workers, with the code as it is at that moment. */
import { Command, Option } from "commander";
import type { Cli } from "../core/cli.ts";
import { appNameOf } from "../project/app-name.ts";
import { portOption, storedSettings } from "./options.ts";

const DEFAULT_HOST = "localhost";

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
    .addOption(portOption())
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
      const stored = await storedSettings(cli, command);
      await dev(cli, {
        appName: await appNameOf(cli, flags.app),
        host: stored.host ?? flags.host,
        port: stored.port ?? flags.port,
        reloads: flags.reload,
        provisionsAll: flags.autoProvision ?? false,
        python: flags.python,
        ...(flags.local ? { local: { runtime: flags.runtime ?? "process" } } : {}),
      });
    });
}
