import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { artifactEnvironment } from "../artifacts/artifact-environment.ts";
import type { ArtifactPlace } from "../artifacts/artifact-shelf.ts";
import { readStartCommand } from "./command-line.ts";
import { type Ending, exitCodeOfSignal } from "./exit-reason.ts";
import { MARK_VARIABLE } from "./process-members.ts";
import { readProcess } from "./process-table.ts";
import { runtimeCommand } from "./python-command.ts";
import type { WorkerSpec } from "./runtime.ts";
import type { WorkerDirectory } from "./worker-directory.ts";

export type SpawnedProcess = {
  readonly pid: number;
  /** Start of the process as process-table.ts gives it; empty when it had ended before anyone could look. */
  readonly start: string;
  readonly ended: Promise<Ending>;
};

/** Starts a worker's command as the leader of a process group of its own, writing to the worker's log. */
export async function spawnWorker(
  spec: WorkerSpec,
  directory: WorkerDirectory,
  place: ArtifactPlace | null,
  hostEnvironment: Readonly<Record<string, string>>,
): Promise<SpawnedProcess> {
  const env = { ...inheritedEnvironment(), ...environmentOf(spec, place), ...hostEnvironment };
  const [command, ...words] = await startCommand(spec, place, env);
  if (command === undefined) {
    throw new Error(
      `Worker ${spec.workerId} has no start command. The process runtime ignores the image: set dockerArgs of the template to the command that starts the handler.`,
    );
  }
  const log = await open(directory.logPath, "a", 0o600);
  try {
    const child = spawn(command, words, {
      cwd: directory.workPath,
      env: { ...env, [MARK_VARIABLE]: directory.path },
      // The file itself, not a pipe of the agent's: a worker goes on writing when the agent is gone.
      stdio: ["ignore", log.fd, log.fd],
      detached: true,
    });
    return await watchStart(child, command);
  } finally {
    await log.close();
  }
}

/** Without a command of its own, a worker of an app runs the app's files. */
async function startCommand(
  { dockerArgs }: WorkerSpec,
  place: ArtifactPlace | null,
  env: NodeJS.ProcessEnv,
): Promise<readonly string[]> {
  const { entrypoint, command } = readStartCommand(dockerArgs);
  const words = [...entrypoint, ...command];
  return words.length === 0 && place ? runtimeCommand(place.appPath, env) : words;
}

/** Nothing can be mounted for a process, so it is told where the files are. */
function environmentOf({ env }: WorkerSpec, place: ArtifactPlace | null): Readonly<Record<string, string>> {
  return place ? artifactEnvironment(env, { ...place, appDirectory: place.appPath }) : env;
}

/** Nothing else of the agent's environment reaches a worker. */
function inheritedEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, FLASH_PYTHON } = process.env;
  return {
    ...(PATH !== undefined && { PATH }),
    ...(HOME !== undefined && { HOME }),
    ...(FLASH_PYTHON !== undefined && { FLASH_PYTHON }),
  };
}

async function watchStart(child: ChildProcess, command: string): Promise<SpawnedProcess> {
  const ended = new Promise<Ending>((resolve) => {
    child.once("exit", (code, signal) => {
      resolve({ exitCode: signal === null ? code : exitCodeOfSignal(signal) });
    });
  });
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new Error(startFailure(command, error), { cause: error });
  }
  child.unref();
  const { pid } = child;
  if (pid === undefined) throw new Error(`The command "${command}" was started without a process id.`);
  return { pid, start: (await readProcess(pid))?.start ?? "", ended };
}

function startFailure(command: string, error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") {
    return `The command "${command}" was not found on this host. Install it, or correct dockerArgs of the template.`;
  }
  if (code === "EACCES") {
    return `The command "${command}" can not be executed by the agent's user. Check its permissions.`;
  }
  return `The command "${command}" could not be started: ${error instanceof Error ? error.message : String(error)}.`;
}
