/** Completion of commands by the Tab key. */
import { mkdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { homedir } from "node:os";
import tab from "@bomb.sh/tab/commander";
import type { Command } from "commander";
import { sync as writeFileAtomic } from "write-file-atomic";
import type { Cli } from "../core/cli.ts";
import type { LiveNames } from "../account/live-names.ts";
import { EXIT_USAGE, Failure } from "../../src/std/failure.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

const OWN_COMMAND = "complete";

export type { LiveNames };

/** Names of what an account has, for `complete -- …`, which the shell runs; nothing for other commands. */
export async function namesToComplete(cli: Cli, args: readonly string[]): Promise<LiveNames> {
  const [first, separator, ...given] = args;
  if (first !== OWN_COMMAND || separator !== "--") return {};
  const { liveNames } = await import("../account/live-names.ts");
  return await liveNames(cli, given);
}

/** Adds the hidden command that shells call for completions; arguments of these names are completed by `liveNames`. */
export function addCompletion(program: Command, liveNames: LiveNames): void {
  for (const command of commandsBelow(program)) {
    for (const argument of command.registeredArguments) {
      const names = liveNames[argument.name()];
      if (names !== undefined) argument.choices(names);
    }
  }
  tab(program);
  const help = program.createHelp();
  program.configureHelp({
    visibleCommands: (command) =>
      help.visibleCommands(command).filter((visible) => visible.name() !== OWN_COMMAND),
  });
}

function commandsBelow(command: Command): readonly Command[] {
  return command.commands.flatMap((one) => [one, ...commandsBelow(one)]);
}

/** Writes the completion script where the shell finds it; by default for the user's own shell. */
export function installCompletion(cli: Cli, program: Command, named: string | undefined): void {
  const shell = shellOf(cli, named);
  const path = pathOf(cli, shell, program.name());
  mkdirSync(dirname(path), { recursive: true });
  writeFileAtomic(path, scriptOf(program, shell));
  cli.terminal.done(`Completion for ${shell} is installed in ${path}.`);
  if (shell === "zsh") addLine(cli, path);
  cli.terminal.say(
    shell === "bash"
      ? "It works in new shells, where the package bash-completion is installed."
      : "It works in new shells.",
  );
}

function shellOf(cli: Cli, named: string | undefined): Shell {
  const name = named ?? basename(cli.environment["SHELL"] ?? "");
  const shell = SHELLS.find((one) => one === name);
  if (shell) return shell;
  const problem = name === "" ? "The shell is not known" : `There is no completion for ${name}`;
  throw new Failure(
    `${problem}; name one of ${SHELLS.join(", ")}.`,
    ["flash --install-completion bash"],
    EXIT_USAGE,
  );
}

function pathOf({ environment }: Cli, shell: Shell, name: string): string {
  const home = homeOf(environment);
  const data = environment["XDG_DATA_HOME"] || join(home, ".local/share");
  const configuration = environment["XDG_CONFIG_HOME"] || join(home, ".config");
  if (shell === "bash") return join(data, "bash-completion/completions", name);
  if (shell === "fish") return join(configuration, "fish/completions", `${name}.fish`);
  return join(configuration, "edgerun", name === "flash" ? "completion.zsh" : `${name}.zsh`);
}

/** zsh has no directory for completions of a user, so its start file must load ours. */
function addLine(cli: Cli, path: string): void {
  const startFile = join(cli.environment["ZDOTDIR"] || homeOf(cli.environment), ".zshrc");
  const line = `source '${path}'`;
  const content = readIfThere(startFile);
  if (content.split("\n").includes(line)) return;
  writeFileAtomic(startFile, `${content}${content === "" || content.endsWith("\n") ? "" : "\n"}${line}\n`);
  cli.terminal.done(`${startFile} loads it.`);
}

/** The library prints its scripts. */
function scriptOf(program: Command, shell: Shell): string {
  const lines: string[] = [];
  const { log } = console;
  console.log = (line: string) => lines.push(line);
  try {
    program.parse([OWN_COMMAND, shell], { from: "user" });
  } finally {
    console.log = log;
  }
  const start =
    shell === "zsh" ? "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n" : "";
  // When loaded twice, the script would fail on its own constants.
  return `${start}${lines.join("\n").replaceAll(/^readonly /gm, "")}\n`;
}

function homeOf(environment: Cli["environment"]): string {
  return environment["HOME"] || homedir();
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
