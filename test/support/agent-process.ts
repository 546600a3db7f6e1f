/** `edgerun-agent run` as a process of its own, against a scripted edge. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { inject, onTestFinished } from "vitest";
import { JOIN_TOKEN } from "./scripted-edge.ts";

export type AgentSettings = {
  readonly edgeUrl: string;
  readonly stateDir: string;
  readonly flags?: readonly string[];
};

export class AgentProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<number | null>;
  stdout = "";
  stderr = "";

  private constructor(command: readonly string[], env: NodeJS.ProcessEnv) {
    this.#child = spawn(process.execPath, command, { env, stdio: ["pipe", "pipe", "pipe"] });
    this.#child.stdout?.on("data", (data: Buffer) => (this.stdout += data.toString()));
    this.#child.stderr?.on("data", (data: Buffer) => (this.stderr += data.toString()));
    this.#child.stdin?.on("error", () => {});
    this.#exit = once(this.#child, "close").then(() => this.#child.exitCode);
    onTestFinished(() => this.kill()); // a test that hangs never comes to its end
  }

  static start(
    settings: AgentSettings,
    env: NodeJS.ProcessEnv = { EDGERUN_JOIN_TOKEN: JOIN_TOKEN },
  ): AgentProcess {
    return new AgentProcess(commandLine(settings), { ...process.env, ...env });
  }

  /** The agent as the child of another process, which is what a test then kills. */
  static startUnderParent(settings: AgentSettings): AgentProcess {
    const spawnAgent = `
      const { spawn } = require("node:child_process");
      spawn(process.execPath, ${JSON.stringify(commandLine(settings))}, { stdio: ["pipe", "inherit", "inherit"] });
    `;
    return new AgentProcess(["-e", spawnAgent], { ...process.env, EDGERUN_JOIN_TOKEN: JOIN_TOKEN });
  }

  /** Resolves with the exit code when the process has ended and its output is closed. */
  get exited(): Promise<number | null> {
    return this.#exit;
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error("the agent did not start");
    return this.#child.pid;
  }

  signal(name: "SIGKILL" | "SIGTERM" | "SIGINT"): void {
    this.#child.kill(name);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  /** An event of the agent's log, which names a job if one is given. */
  async logged(event: string, jobId?: string): Promise<void> {
    const names = jobId === undefined ? "" : `"${jobId}"`;
    const isThere = () =>
      this.stderr.split("\n").some((line) => line.includes(`"${event}"`) && line.includes(names));
    while (!isThere()) await once(this.#child.stderr ?? this.#child, "data");
  }

  async printed(text: string): Promise<void> {
    while (!this.stdout.includes(text)) await once(this.#child.stdout ?? this.#child, "data");
  }
}

function commandLine({ edgeUrl, stateDir, flags = [] }: AgentSettings): string[] {
  return [
    inject("agentBundle"),
    "run",
    "--edge",
    edgeUrl,
    "--state",
    stateDir,
    "--runtime",
    "process",
    "--simulate-gpus",
    "--log-level",
    "debug",
    "--name",
    "test",
    ...flags,
  ];
}

/** Processes whose environment or command line names the directory. */
export function processesNaming(directory: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid)
    .filter(
      (pid) => readProc(pid, "environ").includes(directory) || readProc(pid, "cmdline").includes(directory),
    );
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
