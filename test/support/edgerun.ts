/** A whole Edgerun for tests: what `npm start` starts, on a free port, with a state directory of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import getPort from "get-port";
import type { RuntimeKind } from "../../scripts/start/options.ts";
import type { RunningRecord } from "../../scripts/start/state-directory.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const LAST_LINE = /^Ctrl\+C stops everything/m;
/** Below the ports that the system gives to whoever asks for any, which would take it before Edgerun has started. */
const PORTS = { from: 10_000, end: 32_768 };

export function freePort(): Promise<number> {
  return getPort({ host: "127.0.0.1", port: randomInt(PORTS.from, PORTS.end) });
}

export type LaunchSettings = {
  /** npm: as a user types it. script: the script alone, which is quicker. */
  readonly via: "npm" | "script";
  readonly port: number;
  readonly stateDirectory: string;
  readonly options?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** One run of `npm start`, or of the script behind it. */
export class Launch {
  readonly #child: ChildProcess;
  readonly #stateDirectory: string;
  readonly #waiters = new Set<() => void>();
  #output = "";
  /** Resolves with the exit code, or the name of the signal that ended the process. */
  readonly ended: Promise<number | string>;

  constructor({ via, port, stateDirectory, options = [], env = {} }: LaunchSettings) {
    this.#stateDirectory = stateDirectory;
    const own = ["--port", String(port), "--state", stateDirectory, ...options];
    const [command, args]: [string, string[]] =
      via === "npm"
        ? ["npm", ["start", "--", ...own]]
        : [process.execPath, [join(ROOT, "scripts/start.ts"), ...own]];
    this.#child = spawn(command, args, {
      cwd: ROOT,
      env: { ...withoutNpm(process.env), EDGERUN_LIFELINE: via === "script" ? "3" : "", ...env },
      // A group of its own, as a shell gives to a command, so that tests can press Ctrl+C.
      detached: true,
      // If the tests are killed, the pipe closes and Edgerun stops.
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => this.#read(text));
    }
    this.ended = new Promise((settle) => {
      this.#child.once("close", (code, signal) => {
        settle(code ?? signal ?? "unknown");
        this.#wake();
      });
    });
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error("the process did not start");
    return this.#child.pid;
  }

  get output(): string {
    return this.#output;
  }

  /** What the running script says about itself. */
  get record(): RunningRecord {
    return JSON.parse(readFileSync(join(this.#stateDirectory, "running.json"), "utf8")) as RunningRecord;
  }

  /** Resolves when the output matches; rejects, with all output, when the process ends before. */
  async printed(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.#output)) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        throw new Error(`It ended without printing ${pattern}:\n${this.#output}`);
      }
      await new Promise<void>((wake) => this.#waiters.add(wake));
    }
  }

  /** Resolves when everything has started and the example job has ended. */
  async settled(): Promise<void> {
    await this.printed(LAST_LINE);
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  /** What a terminal does on Ctrl+C: the signal goes to every process of the group. */
  pressControlC(): void {
    process.kill(-this.pid, "SIGINT");
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.signal("SIGTERM");
    await this.ended;
  }

  #read(text: string): void {
    this.#output += text;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
  }
}

/** Tests run under npm; what it sets must not make the started script think that npm started it. */
function withoutNpm(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("npm_")));
}

export type Edgerun = AsyncDisposable & {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The example endpoint, with the hello worker. */
  readonly endpointId: string;
  readonly stateDirectory: string;
  /** Process ids as they are now; the edge and the agent get new ones when they are restarted. */
  pids(): { readonly script: number; readonly edge: number; readonly agent: number };
  output(): string;
  printed(pattern: RegExp): Promise<void>;
  /** Stops everything and removes the state directory. */
  stop(): Promise<void>;
};

/** Starts everything and waits until the example job has completed. */
export async function startEdgerun(settings: {
  readonly runtime: RuntimeKind;
  readonly options?: readonly string[];
}): Promise<Edgerun> {
  const stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-state-"));
  const port = await freePort();
  const options = ["--runtime", settings.runtime, ...(settings.options ?? [])];
  const launch = new Launch({ via: "script", port, stateDirectory, options });
  const stop = async (): Promise<void> => {
    await launch.stop();
    await rm(stateDirectory, { recursive: true, force: true });
  };
  try {
    await launch.settled();
    return describeRunning(launch, stateDirectory, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

function describeRunning(launch: Launch, stateDirectory: string, stop: () => Promise<void>): Edgerun {
  const { url, endpointId } = launch.record;
  if (endpointId === null) throw new Error(`There is no example endpoint:\n${launch.output}`);
  return {
    baseUrl: url,
    apiKey: readFileSync(join(stateDirectory, "api-key"), "utf8").trim(),
    endpointId,
    stateDirectory,
    pids() {
      const { script, edgePid, agentPid } = launch.record;
      if (edgePid === null || agentPid === null) throw new Error("the edge or the agent is not running");
      return { script: script.pid, edge: edgePid, agent: agentPid };
    },
    output: () => launch.output,
    printed: (pattern) => launch.printed(pattern),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
