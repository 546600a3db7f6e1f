/** The Python process of discovery; it and its children are one process group. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { Failure } from "../../src/std/failure.ts";
import type { DiscoveryRequest } from "./discovery-report.ts";

/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 2_000;

/** On Windows Python inherits no descriptors, and there are no process groups. */
export const IS_POSIX = process.platform !== "win32";

/** Removes the project from the import path, since it may have a file named like a module of Python. */
export const BOOTSTRAP = `
import sys
if not sys.path[0]:
    del sys.path[0]
import runpy
runpy.run_module("edgerun.discovery", run_name="__main__", alter_sys=True)
`;

export type DiscoveryCall = {
  readonly interpreter: string;
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly request: DiscoveryRequest;
  readonly signal: AbortSignal;
  /** `--live` */
  readonly options?: readonly string[];
};

/** The JSON of the report: from descriptor 3, or from a file where descriptors cannot be inherited. */
export async function runDiscovery(call: DiscoveryCall): Promise<string> {
  const { options = [] } = call;
  if (IS_POSIX) return await runPython(call, options);
  const directory = await mkdtemp(join(tmpdir(), "flash-discovery-"));
  try {
    const file = join(directory, "report.json");
    await runPython(call, [...options, "--report", file]);
    return await readFile(file, "utf8");
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function runPython(call: DiscoveryCall, options: readonly string[]): Promise<string> {
  call.signal.throwIfAborted();
  const child = execa(call.interpreter, ["-X", "utf8", "-c", BOOTSTRAP, ...options], {
    cwd: call.directory,
    env: call.environment,
    extendEnv: false,
    input: JSON.stringify(call.request),
    // What the app's modules print goes to standard error, apart from the report.
    stdio: ["pipe", 2, 2, IS_POSIX ? "pipe" : "ignore"],
    detached: IS_POSIX,
    reject: false,
  });
  const group = new ProcessGroup(child);
  const end = (): void => group.end();
  call.signal.addEventListener("abort", end, { once: true });
  try {
    const result = await child;
    call.signal.throwIfAborted();
    if (result.failed) {
      const advice = [describeExit(result)];
      throw new Failure(`${call.interpreter} could not read the app's declarations.`, advice);
    }
    const report: unknown = result.stdio[3];
    return typeof report === "string" ? report : "";
  } finally {
    call.signal.removeEventListener("abort", end);
    group.forget();
  }
}

/** Why a process ended; the message of execa would show the whole script. */
function describeExit({ originalMessage, signal, exitCode }: Ending): string {
  if (originalMessage) return originalMessage;
  if (signal !== undefined) return `It was ended by ${signal}.`;
  return `It ended with exit code ${exitCode ?? "unknown"}.`;
}

type Ending = {
  readonly originalMessage?: string | undefined;
  readonly signal?: string | undefined;
  readonly exitCode?: number | undefined;
};

type Process = { readonly pid?: number | undefined; kill(signal: NodeJS.Signals): boolean };

/** A process that was started with `detached`, and its children. */
export class ProcessGroup {
  readonly #leader: Process;
  #timer: NodeJS.Timeout | undefined;

  constructor(leader: Process) {
    this.#leader = leader;
  }

  /** Sends SIGTERM to the group, and SIGKILL after a grace period. */
  end(): void {
    this.#signal("SIGTERM");
    this.#timer = setTimeout(() => this.#signal("SIGKILL"), GRACE_MS);
  }

  /** To be called when the leader has ended. */
  forget(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#signal("SIGKILL"); // Members of the group that ignored SIGTERM.
  }

  #signal(signal: NodeJS.Signals): void {
    if (!IS_POSIX || this.#leader.pid === undefined) {
      this.#leader.kill(signal);
      return;
    }
    try {
      process.kill(-this.#leader.pid, signal);
    } catch {
      // The group has ended.
    }
  }
}
