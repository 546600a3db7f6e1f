/**
 * Runs a command in a container, by Docker's exec.
 *
 * X1  It has the user, capabilities and limits of the container, and no more.
 * X2  Docker cannot end an exec. Where this process sees the container's processes, it ends the session of the command,
 *     signalling only processes of the container; elsewhere a second exec kills what carries the command's mark.
 * X3  A daemon that starts again with live restore keeps the container and knows the exec no more. Nobody reads what the
 *     command prints from then on, so it is ended.
 */
import type Dockerode from "dockerode";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { retryDelayMs } from "../../../src/std/waiting.ts";
import { ignoreFailure } from "../../../src/std/errors.ts";
import type { CommandLoss } from "../../../src/tunnel/tunnel-messages.ts";
import { killSession, type ProcessIdentity, signalGroup } from "../../host/process-session.ts";
import { namespaceOf, readProcess } from "../../host/process-table.ts";
import type {
  CommandProcess,
  CommandRequest,
  CommandSignal,
  OutputName,
  RunningCommand,
  TerminalSize,
} from "../interface/command.ts";
import { ignoring } from "../daemon/docker-calls.ts";
import { isNotFound } from "../daemon/docker-errors.ts";
import { exitCodeOfSignal } from "../interface/exit-reason.ts";
import { OutputFrames } from "./output-frames.ts";

const MARK = "EDGERUN_COMMAND";
const SIGKILLED = exitCodeOfSignal("SIGKILL");
const END_NEWS_MS = 500;
const LOOK = { baseMs: 5, capMs: 500 };

export type CommandPlace = {
  /** For short calls, and for streams without a time limit. */
  readonly docker: Dockerode;
  readonly streams: Dockerode;
  readonly container: Dockerode.ContainerInspectInfo;
};

/** Throws with a message for users when the command cannot be started. */
export async function runInContainer(place: CommandPlace, request: CommandRequest): Promise<RunningCommand> {
  const { docker, streams, container } = place;
  const { terminal, command, directory, environment } = request;
  const namespace = await visibleNamespace(container);
  const mark = namespace === null ? randomUUID() : null;
  const variables = {
    ...(terminal && { TERM: terminal.type }),
    ...environment,
    ...(mark !== null && { [MARK]: mark }),
  };
  const created = await docker.getContainer(container.Id).exec({
    Cmd: [...command],
    Tty: terminal !== null,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Privileged: false, // X1
    Env: Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    ...(directory !== undefined && { WorkingDir: directory }),
    ...(terminal && { ConsoleSize: [terminal.rows, terminal.columns] }),
  });
  const exec = docker.getExec(created.id);
  const options = { hijack: true, stdin: true, Tty: terminal !== null };
  if (terminal) void resize(exec, terminal);
  const stream = await streams.getExec(created.id).start(options);
  const running = new ContainerCommand({ ...place, request, exec, stream, namespace, mark });
  await running.begin();
  return running;
}

/**
 * A daemon older than Docker 23 does not take the size with the command. It lets this call wait until the command has
 * started, so that a call made before is in time for all but the first milliseconds.
 */
async function resize(exec: Dockerode.Exec, { columns, rows }: TerminalSize): Promise<void> {
  await exec.resize({ w: columns, h: rows }).catch(ignoreFailure); // it has ended
}

/** The namespace of the container's processes; null where this process does not see them. */
async function visibleNamespace({ Id, State }: Dockerode.ContainerInspectInfo): Promise<string | null> {
  const groups = await readFile(`/proc/${State.Pid}/cgroup`, "utf8").catch(() => "");
  return groups.includes(Id) ? namespaceOf(State.Pid) : null;
}

type Parts = CommandPlace & {
  readonly request: CommandRequest;
  readonly exec: Dockerode.Exec;
  readonly stream: Duplex;
  readonly namespace: string | null;
  readonly mark: string | null;
};

class ContainerCommand implements RunningCommand {
  readonly exit: Promise<number | CommandLoss>;
  readonly #parts: Parts;
  readonly #frames: OutputFrames | null;
  #leader: ProcessIdentity | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
    const closed = new Promise((resolve) => parts.stream.once("close", resolve)); // it may be before `begin` has looked
    this.exit = closed.then(() => this.#end());
    this.#frames = parts.request.terminal ? null : new OutputFrames(parts.request.onOutput);
    parts.stream.on("error", ignoreFailure); // its close follows
  }

  /** Waits until it has started. Throws Docker's message when it could not. */
  async begin(): Promise<void> {
    const { exec, request, namespace, stream } = this.#parts;
    const { Pid: pid, ExitCode: code } = await lookUntil(exec, (found) => found.Pid > 0 || hasEnded(found));
    if (pid === 0 && code !== null) throw new Error(await this.#startFailure());
    const row = namespace !== null && (await namespaceOf(pid)) === namespace ? await readProcess(pid) : null;
    if (row) this.#leader = { pid, start: row.start };
    if (request.terminal) await resize(exec, request.terminal); // where it came too early
    stream.on("data", (bytes: Buffer) => this.#take(bytes));
    stream.pause();
  }

  get process(): CommandProcess | null {
    const { namespace } = this.#parts;
    return this.#leader && { ...this.#leader, namespace };
  }

  #take(bytes: Buffer): void {
    if (this.#frames) this.#frames.take(bytes);
    else this.#parts.request.onOutput("stdout", bytes);
  }

  /** Docker prints it where the output would be. */
  async #startFailure(): Promise<string> {
    const texts: Record<OutputName, string> = { stdout: "", stderr: "" };
    const frames = new OutputFrames((name, bytes) => (texts[name] += Buffer.from(bytes).toString()));
    const { request, stream } = this.#parts;
    for await (const bytes of stream as AsyncIterable<Buffer>) {
      if (request.terminal) texts.stdout += bytes.toString();
      else frames.take(bytes);
    }
    const text = `${texts.stdout}${texts.stderr}`.trim();
    return `The command cannot be started: ${text || "Docker does not say why"}`;
  }

  async #end(): Promise<number | CommandLoss> {
    try {
      // Docker may say for ever of a command that its container took along that it runs.
      const isOver = async (found: Dockerode.ExecInspectInfo) =>
        hasEnded(found) || !(await this.#isContainerUp());
      const { ExitCode: code } = await lookUntil(this.#parts.exec, isOver);
      if (code === null) return "container_ended";
      if (code !== SIGKILLED) return code;
      await delay(END_NEWS_MS); // Docker may know of the command before it knows of the container that killed it
      return (await this.#isContainerUp()) ? code : "container_ended";
    } catch (error) {
      if (isNotFound(error) && !(await this.#isContainerUp().catch(() => true))) return "container_ended";
      await this.kill(); // X3
      return "lost";
    }
  }

  async #isContainerUp(): Promise<boolean> {
    const { docker, container } = this.#parts;
    const found = await ignoring(isNotFound, docker.getContainer(container.Id).inspect());
    return found?.State.Running ?? false;
  }

  write(bytes: Uint8Array, taken: () => void): void {
    this.#parts.stream.write(bytes, taken);
  }

  end(): void {
    this.#parts.stream.end();
  }

  pause(): void {
    this.#parts.stream.pause();
  }

  resume(): void {
    this.#parts.stream.resume();
  }

  resize(size: TerminalSize): void {
    if (this.#parts.request.terminal) void resize(this.#parts.exec, size);
  }

  signal(signal: CommandSignal): void {
    const sent = this.#leader ? signalGroup(this.#leader, signal) : this.#signalMarked(signal);
    void sent.catch(ignoreFailure); // it has ended
  }

  async kill(): Promise<void> {
    const { stream, namespace } = this.#parts;
    const isOfContainer = async (pid: number) => (await namespaceOf(pid)) === namespace; // X2
    if (this.#leader) await killSession(this.#leader, isOfContainer);
    else await this.#signalMarked("SIGKILL").catch(ignoreFailure); // its container is gone
    stream.destroy();
  }

  async #signalMarked(signal: CommandSignal): Promise<void> {
    const { docker, container, mark } = this.#parts;
    if (mark === null) return; // it ended before it was seen
    const Cmd = ["sh", "-c", SIGNAL_MARKED, "sh", `${MARK}=${mark}`, signal.slice("SIG".length)];
    const exec = await docker.getContainer(container.Id).exec({ Cmd });
    await exec.start({ Detach: true });
  }
}

const SIGNAL_MARKED = `for one in /proc/[0-9]*; do
  if tr '\\0' '\\n' < "$one/environ" 2>/dev/null | grep -qxF "$1"; then kill -s "$2" "\${one#/proc/}"; fi
done`;

function hasEnded({ Running, ExitCode }: Dockerode.ExecInspectInfo): boolean {
  return !Running && ExitCode !== null;
}

/** Docker reports neither the start nor the end of an exec to the one who runs it. */
async function lookUntil(
  exec: Dockerode.Exec,
  isSo: (found: Dockerode.ExecInspectInfo) => boolean | Promise<boolean>,
): Promise<Dockerode.ExecInspectInfo> {
  for (let looks = 1; ; looks += 1) {
    const found = await exec.inspect();
    if (await isSo(found)) return found;
    await delay(retryDelayMs(looks, LOOK), undefined, { ref: false });
  }
}
