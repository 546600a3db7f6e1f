/** One run of the `flash` command, from its arguments to its exit code. */
import { stripVTControlCharacters } from "node:util";
import { type Command, CommanderError } from "commander";
import { ActivityLog } from "./terminal/activity-log.ts";
import { Secrets } from "./terminal/secrets.ts";
import type { Cli } from "./core/cli.ts";
import { crashReport } from "./core/crash.ts";
import { printable } from "./core/printable.ts";
import { CommandExit } from "./core/command-exit.ts";
import { installCompletion, namesToComplete } from "./commands/completion.ts";
import { EXIT_FAILURE, EXIT_USAGE, Failure } from "../src/std/failure.ts";
import { Interruptions } from "./core/interruption.ts";
import { flashProgram, type ProgramName } from "./program.ts";
import { ServiceWarnings } from "./core/service-warnings.ts";
import { ConsoleTerminal } from "./terminal/console-terminal.ts";

/** Taken in place of a command; it is not offered for completion. */
const INSTALL_COMPLETION = "--install-completion";

type Run = {
  readonly cli: Cli & { isInsecure: boolean };
  readonly terminal: ConsoleTerminal;
  readonly warnings: ServiceWarnings;
};

/** Runs a command in this process; returns the exit code. */
export async function runFlash(name: ProgramName, args: readonly string[]): Promise<number> {
  const secrets = new Secrets(process.env);
  const directory = currentDirectory();
  const log = new ActivityLog(directory);
  const run = startRun(name, { directory, secrets, log });
  const { cli, terminal, warnings } = run;
  const program = flashProgram({
    name,
    cli,
    liveNames: name === "edgerun" ? await namesToComplete(cli, args) : {},
    configure: (command, { isInsecure, ...options }) => {
      terminal.configure(options);
      cli.isInsecure = isInsecure;
      log.append(secrets.redact(`$ ${name} ${loggedArguments(command, args).join(" ")}`));
    },
    writeOutput: (text) => process.stdout.write(text),
    writeErrors: (text) => process.stderr.write(text),
  });
  try {
    const [first, second] = args;
    if (first === undefined) program.outputHelp();
    else if (first === INSTALL_COMPLETION) installCompletion(cli, program, second);
    else await program.parseAsync([...args], { from: "user" });
    warnings.flush();
    // Some commands run until they are interrupted.
    return cli.signal.aborted ? (cli.signal.reason as Failure).exitCode : 0;
  } catch (error) {
    return end(name, run, error);
  } finally {
    terminal.close();
    log.flush();
  }
}

/** What runs in a container may be secret, with its variables. */
function loggedArguments(command: Command, args: readonly string[]): readonly string[] {
  return command.name() === "exec" ? ["exec", command.args[0] ?? "", "…"] : args;
}

/** A directory that was deleted meanwhile has only the path that the shell knows; what needs its files then fails. */
function currentDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return process.env["PWD"] || "/";
  }
}

type RunParts = { readonly directory: string; readonly secrets: Secrets; readonly log: ActivityLog };

function startRun(name: ProgramName, { directory, secrets, log }: RunParts): Run {
  const interruptions = new Interruptions(
    (left) => {
      terminal.close();
      for (const line of left) terminal.warn(line);
    },
    (error) => showBug(name, { cli, terminal }, error),
  );
  const { signal } = interruptions;
  for (const stream of [process.stdout, process.stderr]) stream.on("error", interruptions.onOutputError);
  const terminal = new ConsoleTerminal({
    streams: { input: process.stdin, output: process.stdout, errors: process.stderr },
    environment: process.env,
    signal,
    redact: (text) => secrets.redact(text),
    log: (line) => log.append(stripVTControlCharacters(line)),
  });
  const warnings = new ServiceWarnings((message) => terminal.warn(message));
  const cli = {
    directory,
    environment: process.env,
    terminal,
    signal,
    isInsecure: false,
    hide: (secret: string) => secrets.add(secret),
    warnings,
    onForceQuit: interruptions.addForceQuitMessage,
  };
  return { cli, terminal, warnings };
}

function end(name: ProgramName, { cli, terminal, warnings }: Run, error: unknown): number {
  terminal.close();
  warnings.flush(); // before the error, so that the error comes last
  if (error instanceof CommandExit) return error.exitCode;
  if (error instanceof CommanderError) return endOfParsing(name, terminal, error);
  if (cli.signal.aborted && !(error instanceof Failure)) return show(terminal, cli.signal.reason as Failure);
  if (error instanceof Failure) {
    const exitCode = show(terminal, error);
    return cli.signal.aborted ? (cli.signal.reason as Failure).exitCode : exitCode;
  }
  if (isSystemError(error)) return show(terminal, new Failure(error.message));
  return showBug(name, { cli, terminal }, error);
}

function show(terminal: ConsoleTerminal, failure: Failure): number {
  terminal.fail(printable(failure.message)); // some of it may be what a container has said
  for (const line of failure.advice) terminal.advise(line);
  return failure.exitCode;
}

/** Help and the version have already been printed. */
function endOfParsing(name: ProgramName, terminal: ConsoleTerminal, error: CommanderError): number {
  if (error.exitCode === 0) return 0;
  if (error.code === "commander.help") return EXIT_USAGE;
  const [message = "", suggestion = `\`${name} --help\` lists the commands.`] = error.message
    .replace(/^error: /, "")
    .split("\n")
    .map((line) => line.replace(/^\((.*)\)$/, "$1"));
  return show(terminal, new Failure(message, [suggestion], EXIT_USAGE));
}

/** An error of the operating system, such as a full disk: its own message suffices. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error && "code" in error;
}

function showBug(
  name: ProgramName,
  { cli, terminal }: Pick<Run, "cli" | "terminal">,
  error: unknown,
): number {
  const isDebug = Boolean(cli.environment["DEBUG"] || cli.environment["FLASH_DEBUG"]);
  const { line, advice } = crashReport(name, error, { isDebug });
  terminal.fail(line);
  for (const one of advice) terminal.advise(one);
  return EXIT_FAILURE;
}
