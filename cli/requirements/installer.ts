/** Installs packages for the platform of workers: by uv where it is installed, else by pip. */
import { execa } from "execa";
import { EXIT_FAILURE, Failure } from "../../src/std/failure.ts";
import { sdkDirectory } from "../discovery/interpreter.ts";
import { minorOf } from "../manifest/python-version.ts";
import { findPip } from "./python-requirements.ts";
import type { SourceOption } from "./requirement-lines.ts";

const INSTALL_LIMIT_MS = 600_000;
const PLATFORM = "x86_64-manylinux_2_28";
/** pip accepts a wheel only when its exact tag is listed. */
const PIP_PLATFORMS = [
  ...Array.from({ length: 24 }, (_, at) => `manylinux_2_${28 - at}_x86_64`),
  "manylinux2014_x86_64",
  "manylinux2010_x86_64",
  "manylinux1_x86_64",
];
/** Last lines of a tool that failed. */
const LINES_SHOWN = 15;

export type Python = {
  readonly executable: string;
  /** Such as 3.12.1. */
  readonly version: string;
  /** As sysconfig reports it, such as linux-x86_64. */
  readonly platform: string;
};

export type ExecutionContext = {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
};

/** Which tool installs, and with which interpreter. */
export type Installer = {
  readonly tool: "uv" | "pip";
  /** The interpreter; that of pip where pip installs. */
  readonly python: Python;
  /** The command that runs the tool. */
  readonly command: readonly string[];
  readonly warnings: readonly string[];
};

export type Installation = {
  /** Such as 3.12. */
  readonly target: string;
  /** Lines for the tool, as in a requirements.txt. */
  readonly requirementsFile: string;
  /** For uv: names that must not be installed. */
  readonly overridesFile: string;
  readonly constraints: readonly string[];
  readonly options: readonly { readonly name: SourceOption; readonly value: string | undefined }[];
  readonly withDependenciesOfDependencies: boolean;
  /** Directory to create. */
  readonly into: string;
  /** Receives the output of the tool. */
  readonly onLine: (line: string) => void;
};

export async function findInstaller(
  context: ExecutionContext,
  python: Python,
  target: string,
): Promise<Installer> {
  if ((await run(context, "uv", ["--version"])) !== undefined) {
    return { tool: "uv", python, command: ["uv", "pip"], warnings: [] };
  }
  const fitting = await interpreterOf(context, python, target);
  const used = fitting ?? python;
  const warnings: string[] = [];
  if (!fitting) {
    warnings.push(
      `PACKAGES MAY BE WRONG FOR PYTHON ${target}: pip decides by Python ${python.version} which dependencies ` +
        `apply, and there is no python${target} here. Install uv, or Python ${target}.`,
    );
  } else if (!isWorkerPlatform(used)) {
    warnings.push(
      `PACKAGES MAY BE WRONG FOR LINUX: pip decides by this computer (${used.platform}) which dependencies ` +
        "apply. Install uv, which decides by the worker.",
    );
  }
  return { tool: "pip", python: used, command: await pipOf(context, used), warnings };
}

/** Installs; a Failure has the last lines of the tool and advice. */
export async function install(
  context: ExecutionContext,
  installer: Installer,
  installation: Installation,
): Promise<void> {
  const commandLine =
    installer.tool === "uv" ? uvCommand(installer, installation) : pipCommand(installer, installation);
  const [command = "", ...args] = commandLine;
  const { environment, signal, directory } = context;
  const lines: string[] = [];
  const running = execa(command, args, {
    cwd: directory,
    env: { ...environment, PIP_USER: "0", PIP_REQUIRE_VIRTUALENV: "0", PIP_NO_INPUT: "1" },
    extendEnv: false,
    cancelSignal: signal,
    timeout: INSTALL_LIMIT_MS,
    reject: false,
    all: true,
    buffer: false,
  });
  for await (const line of running.iterable({ from: "all" })) {
    lines.push(line);
    lines.splice(0, lines.length - 200);
    installation.onLine(line.trim());
  }
  const result = await running;
  signal.throwIfAborted();
  if (result.timedOut) {
    throw new Failure(
      `Installing the dependencies took longer than ${INSTALL_LIMIT_MS / 1000} seconds.`,
      lastOf(lines),
    );
  }
  if (result.exitCode !== 0) throw failureOf(installer, installation, lines, result.shortMessage ?? "");
}

function uvCommand({ python, command }: Installer, installation: Installation): string[] {
  return [
    ...[...command, "install", "--python", python.executable, "--target", installation.into],
    ...["--python-platform", PLATFORM, "--python-version", installation.target],
    ...["--only-binary", ":all:", "--override", installation.overridesFile],
    ...commonArguments(installation, {
      "--trusted-host": "--allow-insecure-host",
      "--pre": "--prerelease=allow",
    }),
  ];
}

function pipCommand({ python, command }: Installer, installation: Installation): string[] {
  const isPlain = isWorkerPlatform(python) && minorOf(python.version) === installation.target;
  const forWorker = [
    ...["--python-version", installation.target, "--implementation", "cp", "--only-binary", ":all:"],
    ...PIP_PLATFORMS.flatMap((platform) => ["--platform", platform]),
  ];
  return [
    ...[...command, "install", "--target", installation.into, "--upgrade"],
    ...["--no-compile", "--disable-pip-version-check", "--progress-bar", "off"],
    ...(isPlain ? [] : forWorker),
    ...commonArguments(installation, {}),
  ];
}

function commonArguments(
  installation: Installation,
  renamed: Partial<Record<SourceOption, string>>,
): string[] {
  return [
    ...installation.options.flatMap(({ name, value }) => {
      const option = renamed[name] ?? name;
      return value === undefined ? [option] : [option, value];
    }),
    ...installation.constraints.flatMap((file) => ["--constraint", file]),
    ...(installation.withDependenciesOfDependencies ? [] : ["--no-deps"]),
    ...["--requirement", installation.requirementsFile],
  ];
}

function failureOf(
  { tool }: Installer,
  { target }: Installation,
  lines: readonly string[],
  shortMessage: string,
): Failure {
  const output = lines.join("\n");
  const name =
    /No matching distribution found for ([^\s;]+)/.exec(output)?.[1] ??
    /Because (?:only )?([A-Za-z0-9._-]+)(?:[=<>!~]\S+)? (?:has no|was not|is not|cannot)/.exec(output)?.[1];
  const advice =
    name === undefined
      ? "Fix requirements.txt or the endpoint's dependencies, or leave a package out with --exclude."
      : `Is there a wheel of ${name} for Linux x86_64 and Python ${target}? If not, choose another version, ` +
        `or leave it out with --exclude ${/^[A-Za-z0-9._-]*/.exec(name)?.[0]} when the image has it.`;
  const lastLines = lines.length > 0 ? lastOf(lines) : [shortMessage];
  return new Failure(`${tool} could not install the dependencies.`, [...lastLines, advice], EXIT_FAILURE);
}

function lastOf(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => line.trim() !== "").slice(-LINES_SHOWN);
}

// Interpreters

/** The user's interpreter, or another one on this computer of the version of the workers. */
async function interpreterOf(
  context: ExecutionContext,
  python: Python,
  target: string,
): Promise<Python | undefined> {
  if (minorOf(python.version) === target) return python;
  const script =
    "import json, platform, sys, sysconfig; print(json.dumps([sys.executable, platform.python_version(), sysconfig.get_platform()]))";
  const output = await run(context, `python${target}`, ["-I", "-c", script]);
  if (output === undefined) return undefined;
  const [executable, version, platform] = JSON.parse(output) as [string, string, string];
  return minorOf(version) === target ? { executable, version, platform } : undefined;
}

/** How an interpreter runs pip. */
async function pipOf(context: ExecutionContext, { executable }: Python): Promise<readonly string[]> {
  const pip = await findPip({ ...context, executable, sdk: sdkDirectory() });
  if (pip) return [executable, "-X", "utf8", ...pip];
  throw new Failure(`${executable} has no pip.`, [
    "Install uv (https://docs.astral.sh/uv), or pip for this Python: python3-pip and python3-venv on Debian.",
  ]);
}

function isWorkerPlatform({ platform }: Python): boolean {
  return platform === "linux-x86_64";
}

/** Standard output; undefined when it cannot be run or fails. */
async function run(
  { directory, environment, signal }: ExecutionContext,
  command: string,
  args: readonly string[],
): Promise<string | undefined> {
  const result = await execa(command, args, {
    cwd: directory,
    env: environment,
    extendEnv: false,
    cancelSignal: signal,
    reject: false,
  });
  signal.throwIfAborted();
  return result.exitCode === 0 ? result.stdout : undefined;
}
