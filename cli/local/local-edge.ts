/** An edge and an agent on this computer, for as long as a command runs. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { supervise, type Supervisor } from "../../standalone/supervised-process.ts";
import type { Cli } from "../core/cli.ts";
import { ignoreFlashDirectory } from "../build/build-directory.ts";
import { ensureFlashDirectory, FLASH_DIRECTORY } from "../project/project.ts";
import { findInterpreter, sdkDirectory } from "../discovery/interpreter.ts";
import { secondsSince } from "../core/format.ts";
import { ensureLocalPackages } from "./local-packages.ts";
import { standaloneDirectory } from "./standalone-directory.ts";
import { type StandaloneHandle, startStandalone } from "./standalone-process.ts";

/** All of it lies in the project, and may be deleted while nothing runs. */
const STATE = join(FLASH_DIRECTORY, "local");

export interface LocalEdge {
  readonly url: string;
  readonly apiKey: string;
  /** Ends both; nothing is left running. */
  close(): Promise<void>;
}

export type LocalEdgeOptions = {
  /** How workers run: as plain processes of this person, unless containers are wanted. */
  readonly runtime?: "process" | "docker" | undefined;
  /** `--python`, or the path that it led to. */
  readonly python?: string | undefined;
};

/**
 * Starts both, and starts again what ends by itself, at the same address. Answers once the edge does; throws a Failure
 * that says what to do.
 */
export async function openLocalEdge(cli: Cli, options: LocalEdgeOptions = {}): Promise<LocalEdge> {
  const { runtime = "process" } = options;
  announce(cli, runtime);
  // Workers have another PATH than this command.
  const { executable: python } = await findInterpreter(cli, options.python);
  const packages = await ensureLocalPackages(cli, join(standaloneDirectory(), "packages"));
  const stateDirectory = join(cli.directory, STATE);
  await ignoreFlashDirectory(cli.directory);
  await ensureFlashDirectory(cli.directory);
  // Jobs, code and logs lie there, which are for nobody else on this computer.
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 });
  const settings = { stateDirectory, runtime, python, pythonPackage: sdkDirectory() };
  return await start(cli, (port) =>
    startStandalone({
      cli,
      node: packages.node,
      settings: { ...settings, packages: packages.directory, port },
    }),
  );
}

/** Whatever else is configured is not used, and a person who has forgotten that would look in the wrong place. */
function announce({ terminal }: Cli, runtime: "process" | "docker"): void {
  terminal.say("--local: edge and workers run on this computer alone; no other service is used.");
  if (runtime === "docker") terminal.say("Workers run in Docker. GPUs are simulated: no card is used.");
  else
    terminal.say("Workers are plain processes, which nothing isolates. GPUs are simulated: no card is used.");
}

async function start(cli: Cli, run: (port?: number) => Promise<StandaloneHandle>): Promise<LocalEdge> {
  const startedAt = performance.now();
  const step = cli.terminal.step("Starting the local edge");
  let handle: StandaloneHandle | undefined;
  let supervised: Supervisor;
  try {
    supervised = await supervise({
      name: "local edge",
      start: async () => (handle = await run(handle?.port)),
      onStarted: () => {},
      say: (line) => cli.terminal.warn(line),
    });
  } catch (error) {
    step.fail("The local edge was not started");
    throw error;
  }
  step.done(`Started the local edge (${secondsSince(startedAt)} s)`);
  const { port, apiKey } = handle as unknown as StandaloneHandle;
  cli.hide?.(apiKey);
  return { url: `http://127.0.0.1:${port}`, apiKey, close: () => supervised.stop() };
}
