/**
 * The command line of `flash`: one file of `commands/` for each command.
 *
 * Such a file exports `<name>Command(cli: Cli): Command`, which declares arguments and options and whose action calls
 * one function with `cli` and what was given; it loads it then, so that no command waits for what others need. It ends
 * by returning, or by throwing a Failure. `--json`, `--yes` and `--force` of any command are known to `cli.terminal`: a
 * command declares them, and need not pass them on.
 */
import { Command } from "commander";
import type { Cli } from "./core/cli.ts";
import { appCommand } from "./commands/app.ts";
import { authCommand } from "./commands/auth.ts";
import { buildCommand } from "./commands/build.ts";
import { deployCommand } from "./commands/deploy.ts";
import { devCommand } from "./commands/dev.ts";
import { envCommand } from "./commands/env.ts";
import { initCommand } from "./commands/init.ts";
import { loginCommand } from "./commands/login.ts";
import { undeployCommand } from "./commands/undeploy.ts";
import { updateCommand } from "./commands/update.ts";
import { addCompletion } from "./commands/completion.ts";
import { FLASH_VERSION } from "./core/version.ts";

/** What the command line says that concerns every command. */
export type CommonOptions = {
  readonly isJson: boolean;
  readonly isYes: boolean;
  readonly isInsecure: boolean;
};

export type ProgramSettings = {
  readonly cli: Cli;
  readonly configure: (command: Command, options: CommonOptions) => void;
  readonly writeOutput: (text: string) => void;
  readonly writeErrors: (text: string) => void;
};

const COMMANDS: readonly ((cli: Cli) => Command)[] = [
  initCommand,
  devCommand,
  buildCommand,
  deployCommand,
  updateCommand,
  undeployCommand,
  envCommand,
  appCommand,
  loginCommand,
  authCommand,
];

/** Throws CommanderError where the command line is wrong, and where it only asked for help. */
export function flashProgram({ cli, configure, writeOutput, writeErrors }: ProgramSettings): Command {
  const program = new Command("flash")
    .description("Turns Python functions into serverless endpoints.")
    .version(`flash ${FLASH_VERSION}`, "-v, --version", "print name and version")
    .helpOption("-h, --help", "print this help")
    .option("--insecure", "send the API key to an address without https")
    .option("--install-completion [shell]", "complete commands by the Tab key, in bash, zsh or fish")
    .exitOverride()
    .configureOutput({ writeOut: writeOutput, writeErr: writeErrors, outputError: () => {} });
  for (const command of COMMANDS) program.addCommand(command(cli));
  program.addCommand(devCommand(cli, "run"), { hidden: true });
  inherit(program);
  addCompletion(program);
  program.hook("preAction", (_, command) => {
    const { json, yes, force, insecure } = command.optsWithGlobals<Record<string, unknown>>();
    configure(command, {
      isJson: json === true,
      isYes: yes === true || force === true,
      isInsecure: insecure === true,
    });
  });
  return program;
}

function inherit(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent);
    inherit(command);
  }
}
