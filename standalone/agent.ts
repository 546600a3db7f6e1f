/** The one agent beside an edge on this machine. */
import { spawn } from "node:child_process";
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SupervisedProcess } from "./supervised-process.ts";

/** Time the agent gets to remove its workers after its input was closed. */
export const AGENT_END_LIMIT_MS = 20_000;

export type RuntimeKind = "docker" | "process";

export type AgentSettings = {
  /** The agent: its sources, or the bundle. */
  readonly program: string;
  readonly edgeUrl: string;
  readonly stateDirectory: string;
  readonly logPath: string;
  readonly runtime: RuntimeKind;
  readonly joinToken: string;
  readonly workerPython?: WorkerPython | undefined;
  /** Workers share this computer's GPUs, on a Docker network of this name, which is removed at the end. */
  readonly desktopNetwork?: string | undefined;
  /** The log has lines for each job. */
  readonly logsJobs?: boolean;
};

/** The Python with which plain processes run the code of apps. */
export type WorkerPython = {
  /** Undefined: FLASH_PYTHON of the environment, else the one on the PATH. */
  readonly interpreter?: string | undefined;
  /** Holds the package `edgerun`. */
  readonly packageDirectory: string;
};

function agentArguments(settings: AgentSettings): readonly string[] {
  return [
    settings.program,
    "run",
    "--edge",
    settings.edgeUrl,
    "--state",
    settings.stateDirectory,
    "--runtime",
    settings.runtime,
    "--name",
    "local",
    "--ephemeral",
    "--simulate-gpus",
    "--allow-open-network",
    "--allow-registry",
    "*",
    "--allow-old-runtime",
    "--create-volumes",
    "--public-address",
    "127.0.0.1",
    "--volumes",
    join(settings.stateDirectory, "volumes"),
    ...(settings.logsJobs === true ? ["--log-level", "debug"] : []),
    ...(settings.desktopNetwork ? ["--desktop", "--network", settings.desktopNetwork] : []),
    ...(settings.workerPython ? ["--python-package", settings.workerPython.packageDirectory] : []),
  ];
}

/** Why the agent has ended: the last line of its log that contains an error, else its last line. */
function lastError(logPath: string, fromBytes: number): string {
  const lines = readFileSync(logPath).subarray(fromBytes).toString("utf8").trim().split("\n");
  const error = lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1);
  return error ? `: ${error.trim()}` : "";
}

/**
 * Starts the agent. It is ephemeral: when its input ends, because we closed it or because we were
 * killed, it removes its workers and exits.
 */
export async function startAgent(settings: AgentSettings): Promise<SupervisedProcess> {
  const log = openSync(settings.logPath, "a", 0o600);
  const { size } = fstatSync(log);
  const child = spawn(process.execPath, agentArguments(settings), {
    cwd: dirname(settings.logPath),
    env: {
      ...process.env,
      ...(settings.workerPython?.interpreter && { FLASH_PYTHON: settings.workerPython.interpreter }),
      EDGERUN_JOIN_TOKEN: settings.joinToken,
      // A worker's plain `node` is the Node that runs this.
      PATH: dirname(process.execPath) + delimiter + process.env["PATH"],
    },
    detached: true,
    stdio: ["pipe", log, log],
  });
  closeSync(log);
  child.stdin?.on("error", () => {}); // the process has ended; `ended` reports it
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => {
      if (signal) resolve(`killed by ${signal}`);
      else resolve(`exit code ${code}${lastError(settings.logPath, size)}`);
    });
    child.once("error", (error) => resolve(error.message));
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(await ended);
  return {
    pid,
    ended,
    async stop() {
      child.stdin?.end();
      const isLate = await Promise.race([
        ended.then(() => false),
        delay(AGENT_END_LIMIT_MS, true, { ref: false }),
      ]);
      if (isLate) child.kill("SIGKILL");
      await ended;
    },
  };
}
