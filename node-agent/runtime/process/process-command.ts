/** Runs a command beside a worker that is a plain process, with that process's variables and directory. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, readlink } from "node:fs/promises";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { quote } from "shlex";
import { errorCode, errorMessage, ignoreFailure } from "../../../src/std/errors.ts";
import { within } from "../../../src/std/waiting.ts";
import type { CommandLoss } from "../../../src/tunnel/tunnel-messages.ts";
import { killSession, type ProcessIdentity, signalGroup } from "../../host/process-session.ts";
import { readProcess, readProcessTable } from "../../host/process-table.ts";
import type {
  CommandProcess,
  CommandRequest,
  CommandSignal,
  RunningCommand,
  TerminalSize,
} from "../interface/command.ts";
import { exitCodeOfSignal } from "../interface/exit-reason.ts";
import { WORKER_DIRECTORY_VARIABLE } from "./process-members.ts";

const run = promisify(execFile);

/** What it started in the background may hold its output open: so long it is read after the command's end. */
const LAST_OUTPUT_MS = 2_000;
/** After a command was killed, its worker is looked at so often, with so much time between. */
const WORKER_LOOKS = 6;
const WORKER_LOOK_MS = 50;

export type CommandPlace = {
  /** First process of the worker: the command has the variables that it was started with. */
  readonly pid: number;
  readonly directory: string;
  /** Marks the command as one of the worker's processes. */
  readonly mark: string;
};

/** Throws with a message for users when the command cannot be started. */
export async function runBeside(place: CommandPlace, request: CommandRequest): Promise<RunningCommand> {
  const { terminal, environment, directory } = request;
  const worker = await readProcess(place.pid);
  const [program = "", ...args] = terminal ? inTerminal(request.command, terminal) : request.command;
  const child = spawn(program, args, {
    cwd: directory ?? place.directory,
    env: {
      ...(await variablesOf(place.pid)),
      ...(terminal && { TERM: terminal.type, SHELL: "/bin/sh" }),
      ...environment,
      [WORKER_DIRECTORY_VARIABLE]: place.mark,
    },
    stdio: ["pipe", "pipe", "pipe"],
    detached: true, // it leads a session
  });
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new Error(startFailure(request, program, error), { cause: error });
  }
  const leader = { pid: child.pid ?? 0, start: (await readProcess(child.pid ?? 0))?.start ?? "" };
  return new ProcessCommand(child, leader, request, worker);
}

/** Variables that a process was started with; those of this process that any program needs where that is unknown. */
async function variablesOf(pid: number): Promise<Record<string, string>> {
  const { PATH = "", HOME = "" } = process.env;
  const text = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => `PATH=${PATH}\0HOME=${HOME}`);
  const entries = text.split("\0").filter((entry) => entry.includes("="));
  return Object.fromEntries(entries.map(splitEntry));
}

function splitEntry(entry: string): readonly [string, string] {
  const at = entry.indexOf("=");
  return [entry.slice(0, at), entry.slice(at + 1)];
}

/** util-linux has a terminal for a command. Its own input is none, so the size and the echo are set inside. */
function inTerminal(command: readonly string[], { columns, rows }: TerminalSize): readonly string[] {
  const parts = command.map((word) => quote(word)).join(" ");
  return ["script", "-qefc", `stty rows ${rows} columns ${columns} echo; exec ${parts}`, "/dev/null"];
}

function startFailure({ command, terminal }: CommandRequest, program: string, error: unknown): string {
  if (terminal && errorCode(error) === "ENOENT")
    return "This host has no terminals for plain processes: install script and stty (util-linux, coreutils), or run the command without a terminal.";
  return `The command cannot be started: ${program || command[0]}: ${errorMessage(error)}`;
}

class ProcessCommand implements RunningCommand {
  readonly exit: Promise<number | CommandLoss>;
  readonly #child: ChildProcess;
  readonly #leader: ProcessIdentity;
  readonly #worker: ProcessIdentity | null;
  readonly #hasTerminal: boolean;
  #resizing: Promise<unknown> = Promise.resolve();

  /** `worker`: its first process; null when that has ended. */
  constructor(
    child: ChildProcess,
    leader: ProcessIdentity,
    { terminal, onOutput }: CommandRequest,
    worker: ProcessIdentity | null,
  ) {
    this.#child = child;
    this.#leader = leader;
    this.#worker = worker;
    this.#hasTerminal = terminal !== null;
    this.exit = this.#exitOf(child);
    child.stdin?.on("error", ignoreFailure); // it does not read any more
    child.stdout?.on("data", (bytes: Buffer) => onOutput("stdout", bytes));
    child.stderr?.on("data", (bytes: Buffer) => onOutput(this.#hasTerminal ? "stdout" : "stderr", bytes));
    this.pause();
  }

  async #exitOf(child: ChildProcess): Promise<number | CommandLoss> {
    const closed = once(child, "close");
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    await within(LAST_OUTPUT_MS, closed, null);
    for (const output of this.#outputs) output.destroy();
    const ownCode = code ?? exitCodeOfSignal(signal ?? "SIGKILL");
    // A worker that ends takes its commands along: a shell may see its program killed before it is killed itself.
    const isPlain = signal === null && ownCode !== exitCodeOfSignal("SIGKILL");
    return isPlain || (await this.#doesWorkerStay()) ? ownCode : "container_ended";
  }

  /** Killed together with its command, a worker may be there for a moment longer on a busy host. */
  async #doesWorkerStay(): Promise<boolean> {
    for (let look = 0; look < WORKER_LOOKS; look += 1) {
      if (look > 0) await delay(WORKER_LOOK_MS);
      if (!(await this.#isWorkerUp())) return false;
    }
    return true;
  }

  async #isWorkerUp(): Promise<boolean> {
    const found = this.#worker && (await readProcess(this.#worker.pid));
    return found?.start === this.#worker?.start && found?.isZombie === false;
  }

  get process(): CommandProcess {
    return { ...this.#leader, namespace: null };
  }

  get #outputs(): readonly Readable[] {
    return [this.#child.stdout, this.#child.stderr].filter((output) => output !== null);
  }

  write(bytes: Uint8Array, taken: () => void): void {
    if (this.#child.stdin?.writable) this.#child.stdin.write(bytes, taken);
    else taken();
  }

  end(): void {
    this.#child.stdin?.end();
  }

  pause(): void {
    for (const output of this.#outputs) output.pause();
  }

  resume(): void {
    for (const output of this.#outputs) output.resume();
  }

  resize(size: TerminalSize): void {
    if (this.#hasTerminal)
      this.#resizing = this.#resizing.then(() => this.#resize(size)).catch(ignoreFailure);
  }

  /** The terminal belongs to what `script` has started. */
  async #resize({ columns, rows }: TerminalSize): Promise<void> {
    const terminal = await readlink(`/proc/${(await this.#inner()).pid}/fd/0`);
    await run("stty", ["-F", terminal, "rows", String(rows), "columns", String(columns)]);
  }

  /** What runs in the terminal; the command itself without one. */
  async #inner(): Promise<ProcessIdentity> {
    if (!this.#hasTerminal) return this.#leader;
    return (await readProcessTable()).find((row) => row.parentPid === this.#leader.pid) ?? this.#leader;
  }

  signal(signal: CommandSignal): void {
    void this.#inner()
      .then((inner) => signalGroup(inner, signal))
      .catch(ignoreFailure); // it has ended
  }

  async kill(): Promise<void> {
    await killSession(this.#leader, async () => true);
    for (const stream of [this.#child.stdin, ...this.#outputs]) stream?.destroy();
  }
}
