/**
 * The command line of `flash` and `edgerun`, which are one program: the commands are declared in `commands/`. `flash` has
 * those of apps and containers, `edgerun` all of them.
 *
 * Each `<name>Command(cli)` declares arguments and options. Its action imports the function that does the work only
 * when it runs, so that no command loads what others need. It ends by returning or by throwing a Failure.
 * `cli.terminal` knows `--json`, `--yes` and `--force` of every command, so that commands declare them only.
 */
import { Command } from "commander";
import type { Cli } from "./core/cli.ts";
import { appCommand, authCommand, envCommand, loginCommand } from "./commands/account.ts";
import { buildCommand, devCommand, initCommand } from "./commands/develop.ts";
import { deployCommand, undeployCommand, updateCommand } from "./commands/deploy.ts";
import {
  batchCommand,
  callCommand,
  endpointCommand,
  jobCommand,
  logsCommand,
  topCommand,
  webhookCommand,
  workerCommand,
} from "./commands/operations.ts";
import {
  auditCommand,
  hostCommand,
  keyCommand,
  openCommand,
  podCommand,
  registryCommand,
  secretCommand,
  templateCommand,
  usageCommand,
  volumeCommand,
  whoamiCommand,
} from "./commands/holdings.ts";
import { diffCommand, versionsCommand, rollbackCommand } from "./commands/versions.ts";
import { copyCommand } from "./commands/copy.ts";
import { migrateCommand } from "./commands/migrate.ts";
import {
  execCommand,
  portForwardCommand,
  shellCommand,
  sshConfigCommand,
  tunnelCommand,
} from "./commands/containers.ts";
import { addCompletion, type LiveNames } from "./commands/completion.ts";
import { EDGERUN_VERSION } from "../src/contract/version.ts";

/** Options that every command has. */
export type CommonOptions = {
  readonly isJson: boolean;
  readonly isYes: boolean;
  readonly isInsecure: boolean;
};

/** What the program was called as. */
export type ProgramName = "flash" | "edgerun";

export type ProgramSettings = {
  readonly name: ProgramName;
  readonly cli: Cli;
  /** What completion offers for arguments. */
  readonly liveNames?: LiveNames;
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
  versionsCommand,
  diffCommand,
  rollbackCommand,
  envCommand,
  appCommand,
  migrateCommand,
  copyCommand,
  loginCommand,
  authCommand,
  shellCommand,
  execCommand,
  portForwardCommand,
  tunnelCommand,
  sshConfigCommand,
];

/** Commands that `flash` does not have. */
const EDGERUN_COMMANDS: typeof COMMANDS = [
  whoamiCommand,
  openCommand,
  topCommand,
  callCommand,
  endpointCommand,
  jobCommand,
  batchCommand,
  webhookCommand,
  logsCommand,
  workerCommand,
  templateCommand,
  podCommand,
  hostCommand,
  secretCommand,
  keyCommand,
  volumeCommand,
  registryCommand,
  usageCommand,
  auditCommand,
];

/** Throws CommanderError when the command line is invalid, and when it asks for help. */
export function flashProgram(settings: ProgramSettings): Command {
  const { name, cli, liveNames = {}, configure, writeOutput, writeErrors } = settings;
  const program = new Command(name)
    .description("Turns Python functions into serverless endpoints, and opens shells and ports of pods.")
    .enablePositionalOptions()
    .version(`${name} ${EDGERUN_VERSION}`, "-v, --version", "print name and version")
    .helpOption("-h, --help", "print this help")
    .option("--insecure", "send the API key to a URL without https")
    .option("--install-completion [shell]", "complete commands by the Tab key, in bash, zsh or fish")
    .exitOverride()
    .configureOutput({ writeOut: writeOutput, writeErr: writeErrors, outputError: () => {} });
  const commands = name === "edgerun" ? [...COMMANDS, ...EDGERUN_COMMANDS] : COMMANDS;
  for (const command of commands) program.addCommand(command(cli));
  program.addCommand(devCommand(cli, "run"), { hidden: true });
  inherit(program);
  addCompletion(program, liveNames);
  program.hook("preAction", (_, command) => {
    const { json, format, yes, force, insecure } = command.optsWithGlobals<Record<string, unknown>>();
    configure(command, {
      isJson: json === true || format === "json",
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
