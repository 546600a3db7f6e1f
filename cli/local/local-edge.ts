/** An edge and an agent on this computer, for as long as a command runs. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { supervise } from "../../standalone/supervised-process.ts";
import type { Cli } from "../core/cli.ts";
import { ignoreFlashDirectory } from "../build/build-directory.ts";
import { ensureFlashDirectory } from "../project/project.ts";
import { findInterpreter, sdkDirectory } from "../discovery/interpreter.ts";
import { secondsSince } from "../core/format.ts";
import { inStep } from "../core/terminal.ts";
import { ensureLocalPackages } from "./local-packages.ts";
import { standaloneDirectory, type StandaloneHandle, startStandalone } from "./standalone-process.ts";

export interface LocalEdge {
  readonly url: string;
  readonly apiKey: string;
  /** Ends both; nothing is left running. */
  close(): Promise<void>;
}

export type LocalEdgeOptions = {
  /** The command that starts it, for messages. */
  readonly command: string;
  /** Directory of its state; it may be deleted while nothing runs. */
  readonly stateDirectory: string;
  /** How workers run. */
  readonly runtime: "process" | "docker";
  /** Workers share this computer's GPUs, on a Docker network of this name, which is removed at the end. */
  readonly desktopNetwork?: string | undefined;
  /** `--python`, or the path that it led to. */
  readonly python?: string | undefined;
};

/** Starts both, and restarts either at the same URL if it ends. Resolves once the edge answers; throws a Failure. */
export async function openLocalEdge(cli: Cli, options: LocalEdgeOptions): Promise<LocalEdge> {
  const { command, stateDirectory, runtime, desktopNetwork } = options;
  // Workers have another PATH than this command.
  const { executable: python } = await findInterpreter(cli, options.python);
  const packages = await ensureLocalPackages(cli, join(standaloneDirectory(), "packages"));
  await ignoreFlashDirectory(cli.directory);
  await ensureFlashDirectory(cli.directory);
  // Jobs, code and logs are there, which other users of this computer must not read.
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 });
  const settings = { stateDirectory, runtime, python, desktopNetwork, pythonPackage: sdkDirectory() };
  return await start(cli, (port) =>
    startStandalone({
      cli,
      command,
      node: packages.node,
      settings: { ...settings, packages: packages.directory, port },
    }),
  );
}

async function start(cli: Cli, run: (port?: number) => Promise<StandaloneHandle>): Promise<LocalEdge> {
  const startedAt = performance.now();
  const lines = { title: "Starting the local edge", failed: "The local edge was not started" };
  return await inStep(cli.terminal, lines, async (step) => {
    let handle: StandaloneHandle | undefined;
    const supervised = await supervise({
      name: "local edge",
      start: async () => (handle = await run(handle?.port)),
      onStarted: () => {},
      notify: (line) => cli.terminal.warn(line),
    });
    step.done(`Started the local edge (${secondsSince(startedAt)} s)`);
    const { port, apiKey } = handle as unknown as StandaloneHandle;
    cli.hide?.(apiKey);
    return { url: `http://127.0.0.1:${port}`, apiKey, close: () => supervised.stop() };
  });
}
