/** `npm start` as a process of its own, as a user or a test runs it. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { RunningRecord } from "../../standalone/state-directory.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const LAST_LINE = /^Ctrl\+C stops everything/m;

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
