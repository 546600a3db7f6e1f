/** `edgerun exec` and `edgerun shell`: commands in a container, without a terminal and with one. */
import type { Readable } from "node:stream";
import type { Cli } from "../core/cli.ts";
import { CommandExit } from "../core/command-exit.ts";
import { Interruption } from "../core/interruption.ts";
import { EXIT_FAILURE, EXIT_USAGE, Failure } from "../../src/std/failure.ts";
import { ignoreFailure } from "../../src/std/errors.ts";
import { openContainer } from "./container.ts";
import { withoutShell } from "./no-shell.ts";
import { RemoteCommand, type RemoteCommandOptions } from "./remote-command.ts";
import { UserTerminal } from "./user-terminal.ts";

/** The user's own shell is unknown in an image; bash is the one that most people expect. */
const SHELL = ["sh", "-c", "command -v bash > /dev/null 2>&1 && exec bash; exec sh"];

/** Time for a command to end after SIGTERM or SIGHUP. */
const END_GRACE_MS = 1_000;

export type ExecOptions = {
  readonly command: readonly string[];
  readonly hasTerminal: boolean;
  /** Standard input goes to the command; else it has an empty one. */
  readonly hasInput: boolean;
  /** Absolute. */
  readonly directory?: string;
  readonly environment: Readonly<Record<string, string>>;
};

/** Always throws: CommandExit with the exit code of the shell, or a Failure. */
export async function openShell(cli: Cli, id: string): Promise<never> {
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    throw new Failure("A shell needs a terminal.", [`Without one: edgerun exec ${id} -- sh`], EXIT_USAGE);
  try {
    return await execute(cli, id, { command: SHELL, hasTerminal: true, hasInput: true, environment: {} });
  } catch (error) {
    throw withoutShell(error, id);
  }
}

/** Always throws: CommandExit with the exit code of the command, or a Failure. */
export async function execute(cli: Cli, id: string, options: ExecOptions): Promise<never> {
  const { command, directory, environment, hasTerminal } = options;
  const start = {
    ...(await openContainer(cli, id)),
    command,
    environment,
    ...(directory !== undefined && { directory }),
  };
  const exitCode = await (hasTerminal ? runAtTerminal(cli, start) : runPlainly(cli, start, options.hasInput));
  throw new CommandExit(exitCode ?? EXIT_FAILURE);
}

type Start = Omit<RemoteCommandOptions, "onOutput" | "terminal">;

/** Ctrl+C reaches the command as SIGINT, and what follows is up to the command; a second one ends the tunnel. */
async function runPlainly(cli: Cli, start: Start, hasInput: boolean): Promise<number | null> {
  const remote = await RemoteCommand.start({
    ...start,
    onOutput: (output, bytes, taken) => process[output].write(bytes, taken),
  });
  cli.onForceQuit?.(() => []);
  const ended = new Promise<never>((_, reject) => {
    const pass = (): void => {
      const signal = signalOf(cli);
      remote.signal(signal);
      // Who ends this program, as `timeout` does, does not wait for a command that goes on.
      if (signal !== "SIGINT") setTimeout(() => reject(cli.signal.reason as Failure), END_GRACE_MS).unref();
    };
    cli.signal.addEventListener("abort", pass);
    if (cli.signal.aborted) pass();
  });
  if (hasInput) sendInput(remote, process.stdin).catch(ignoreFailure);
  else remote.end();
  try {
    return await Promise.race([remote.exit, ended]);
  } finally {
    remote.close();
  }
}

function signalOf({ signal }: Cli): "SIGINT" | "SIGTERM" | "SIGHUP" {
  return signal.reason instanceof Interruption ? signal.reason.signal : "SIGTERM";
}

/** An input that cannot be read is one that has ended. */
async function sendInput(remote: RemoteCommand, input: Readable): Promise<void> {
  try {
    for await (const bytes of input) await remote.write(bytes);
  } finally {
    remote.end();
  }
}

async function runAtTerminal(cli: Cli, start: Start): Promise<number | null> {
  const terminal = new UserTerminal(cli.environment);
  const remote = await RemoteCommand.start({
    ...start,
    terminal: terminal.description,
    onOutput: (_, bytes, taken) => terminal.show(bytes, taken),
  });
  const ended = new Promise<never>((_, reject) => {
    const end = (): void => reject(cli.signal.reason);
    cli.signal.addEventListener("abort", end);
    if (cli.signal.aborted) end();
    terminal.give(remote, () => reject(new Failure("Ended by ~.")));
  });
  try {
    const exitCode = await Promise.race([remote.exit, ended]);
    terminal.restore();
    return exitCode;
  } catch (error) {
    terminal.restore({ isCutOff: true });
    throw error;
  } finally {
    remote.close();
  }
}
