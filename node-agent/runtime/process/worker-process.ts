import { errorCode, errorMessage } from "../../../src/std/errors.ts";
import { parseJson } from "../../../src/std/json.ts";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { once } from "node:events";
import { open, readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { LIVE_VARIABLE } from "../../../src/contract/flash/flash-live.ts";
import { artifactEnvironment } from "../../artifacts/artifact-environment.ts";
import type { ArtifactPlace } from "../../artifacts/artifact-directory.ts";
import { readStartCommand } from "../interface/start-command.ts";
import { type Ending, exitCodeOfSignal } from "../interface/exit-reason.ts";
import { WORKER_DIRECTORY_VARIABLE } from "./process-members.ts";
import { readProcess } from "../../host/process-table.ts";
import type { WorkerSpec } from "../interface/runtime.ts";
import type { WorkerDirectory } from "./worker-directory.ts";
import { flashManifestSchema, MANIFEST_FILE } from "../../../src/contract/flash/flash-manifest.ts";

export type SpawnedProcess = {
  readonly pid: number;
  /** Start of the process as process-table.ts gives it; empty when it had ended before the agent could read it. */
  readonly start: string;
  readonly ended: Promise<Ending>;
};

/** What of the host a plain process is given. */
export type ProcessEnvironment = {
  /** Where the files of its app are; null for none. */
  readonly place: ArtifactPlace | null;
  /** Holds the Python package `edgerun`, for workers whose app does not bring it. */
  readonly pythonPackage?: string | undefined;
  readonly hostEnvironment: Readonly<Record<string, string>>;
};

/** Starts a worker's command as the leader of a process group of its own, writing to the worker's log. */
export async function spawnWorker(
  spec: WorkerSpec,
  directory: WorkerDirectory,
  share: ProcessEnvironment,
): Promise<SpawnedProcess> {
  const env = { ...inheritedEnvironment(), ...environmentOf(spec, share), ...share.hostEnvironment };
  const [command, ...args] = await startCommand(spec, share, env);
  if (command === undefined) {
    throw new Error(
      `Worker ${spec.workerId} has no start command. The process runtime ignores the image: set dockerArgs of the template to the command that starts the handler.`,
    );
  }
  const log = await open(directory.logPath, "a", 0o600);
  try {
    const child = spawn(command, args, {
      cwd: directory.workPath,
      env: { ...env, [WORKER_DIRECTORY_VARIABLE]: directory.path },
      // The file itself, not a pipe of the agent: a worker continues to write when the agent has ended.
      stdio: ["ignore", log.fd, log.fd],
      detached: true,
    });
    return await watchStart(child, command);
  } finally {
    await log.close();
  }
}

/** Without its own command, a worker of an app runs the app's files, and a live worker runs the code sent to it. */
async function startCommand(
  spec: WorkerSpec,
  { place }: ProcessEnvironment,
  env: NodeJS.ProcessEnv,
): Promise<readonly string[]> {
  const { entrypoint, command } = readStartCommand(spec.dockerArgs);
  const argv = [...entrypoint, ...command];
  if (argv.length > 0) return argv;
  return place || isLive(spec) ? runtimeCommand(place?.appPath ?? null, env) : [];
}

/** Nothing can be mounted for a process, so its environment has the path of the files. */
function environmentOf(
  spec: WorkerSpec,
  { place, pythonPackage }: ProcessEnvironment,
): Readonly<Record<string, string>> {
  if (!place && !isLive(spec)) return spec.env;
  const paths = [pythonPackage, spec.env["PYTHONPATH"]].filter((path) => path !== undefined && path !== "");
  const env = { ...spec.env, ...(paths.length > 0 && { PYTHONPATH: paths.join(delimiter) }) };
  if (place) return artifactEnvironment(env, { ...place, appDirectory: place.appPath });
  return { PYTHONUNBUFFERED: "1", ...env };
}

/** It lacks the files that workers of deployed apps have, and an image that would bring the runtime is not used. */
function isLive({ env }: WorkerSpec): boolean {
  return env[LIVE_VARIABLE] !== undefined;
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
  const code = errorCode(error);
  if (code === "ENOENT") {
    return `The command "${command}" was not found on this host. Install it, or correct dockerArgs of the template.`;
  }
  if (code === "EACCES") {
    return `The command "${command}" can not be executed by the agent's user. Check its permissions.`;
  }
  return `The command "${command}" could not be started: ${errorMessage(error)}.`;
}

const PROBE_TIMEOUT_MS = 10_000;
const VERSION = /^3\.\d{1,2}$/;

/**
 * The command of a worker of an app: the interpreter of the wanted version where the host has it. `appPath` is null
 * where the app's files are not on the host.
 */
export async function runtimeCommand(
  appPath: string | null,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> {
  return [await interpreter(appPath, env), "-m", "edgerun.runtime"];
}

async function interpreter(
  appPath: string | null,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if (env["FLASH_PYTHON"]) return env["FLASH_PYTHON"];
  const version = env["FLASH_PYTHON_VERSION"] ?? (await manifestVersion(appPath)) ?? "";
  const exact = `python${version}`;
  return VERSION.test(version) && (await isUsable(exact, env["PATH"])) ? exact : "python3";
}

async function manifestVersion(appPath: string | null): Promise<string | undefined> {
  if (appPath === null) return undefined;
  const text = await readFile(join(appPath, MANIFEST_FILE), "utf8").catch(() => "");
  return flashManifestSchema.safeParse(parseJson(text)).data?.python_version;
}

/** Version managers put commands on the PATH for versions that are switched off: these fail. */
async function isUsable(interpreter: string, path = ""): Promise<boolean> {
  const env = { PATH: path, HOME: process.env["HOME"] };
  return await promisify(execFile)(interpreter, ["--version"], { env, timeout: PROBE_TIMEOUT_MS }).then(
    () => true,
    () => false,
  );
}
