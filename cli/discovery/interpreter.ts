/** The user's Python, which runs discovery and installs packages, and the bundled Python package. */
import { parseJson } from "../../src/std/json.ts";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { execa } from "execa";
import * as z from "zod";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";
import { fileURLToPath } from "node:url";

const LEAST_MINOR = 10;
const ADVICE = [
  `Install Python 3.${LEAST_MINOR} or later, or choose one: --python PATH, or FLASH_PYTHON in the environment.`,
];

/**
 * Runs on any Python, so that an old one can report its version. Ignores files of the project, and imports nothing of
 * the package, which would take longest.
 */
const PROBE = `
import sys
if not sys.path[0]:
    del sys.path[0]
import json
try:
    from importlib.machinery import PathFinder
    from importlib.util import find_spec
    package = find_spec("edgerun")
    places = package and package.submodule_search_locations
    sdk = bool(places and PathFinder.find_spec("edgerun.discovery", places))
except ImportError:
    sdk = False
found = {"version": list(sys.version_info[:3]), "executable": sys.executable, "hasSdk": sdk}
sys.stdout.write(json.dumps(found))
`;

const probeSchema = z.object({
  version: z.array(z.number()).length(3),
  executable: z.string().nullish(),
  hasSdk: z.boolean(),
});

export type Interpreter = {
  readonly path: string;
  /** The program itself, without PATH and links. */
  readonly executable: string;
  /** The package with discovery is installed. */
  readonly hasSdk: boolean;
};

/** Chooses by `--python`, FLASH_PYTHON, VIRTUAL_ENV, ./.venv, python3. Throws a Failure that explains how to choose. */
export async function findInterpreter(cli: Cli, option?: string): Promise<Interpreter> {
  const { path, origin } = choice(cli, option);
  const answer = await probe(cli, path, origin);
  const [major = 0, minor = 0] = answer.version;
  if (major < 3 || (major === 3 && minor < LEAST_MINOR)) {
    const advice = [`It was chosen by ${origin}.`, ...ADVICE];
    throw new Failure(`Python ${answer.version.join(".")} of ${path} is too old.`, advice);
  }
  return { path, executable: answer.executable || path, hasSdk: answer.hasSdk };
}

function choice(cli: Cli, option: string | undefined): { path: string; origin: string } {
  const { FLASH_PYTHON, VIRTUAL_ENV } = cli.environment;
  if (option) return { path: located(cli, option), origin: "--python" };
  if (FLASH_PYTHON) return { path: located(cli, FLASH_PYTHON), origin: "FLASH_PYTHON" };
  if (VIRTUAL_ENV) return { path: pythonOf(VIRTUAL_ENV), origin: "VIRTUAL_ENV" };
  const own = pythonOf(join(cli.directory, ".venv"));
  if (existsSync(own)) return { path: own, origin: "./.venv" };
  return { path: process.platform === "win32" ? "python" : "python3", origin: "the PATH" };
}

/** A bare name is looked up in PATH; anything else is relative to where the command was started. */
function located(cli: Cli, path: string): string {
  return /[/\\]/.test(path) ? resolve(cli.directory, path) : path;
}

function pythonOf(virtualEnvironment: string): string {
  return process.platform === "win32"
    ? join(virtualEnvironment, "Scripts", "python.exe")
    : join(virtualEnvironment, "bin", "python");
}

async function probe(cli: Cli, path: string, origin: string): Promise<z.infer<typeof probeSchema>> {
  const result = await execa(path, ["-c", PROBE], {
    cwd: cli.directory,
    env: { ...cli.environment },
    extendEnv: false,
    stdin: "ignore",
    cancelSignal: cli.signal,
    reject: false,
  });
  cli.signal.throwIfAborted();
  const answer = probeSchema.safeParse(result.failed ? undefined : parseJson(result.stdout));
  if (answer.success) return answer.data;
  // The message of execa would show the whole probe.
  const reason = result.stderr?.trim().split("\n").at(-1) || result.originalMessage;
  throw new Failure(`No usable Python: ${path}, from ${origin}, cannot be run.`, [
    ...(reason ? [reason] : []),
    ...ADVICE,
  ]);
}

/** Beside the bundled command, in the repository, or around the command where pip has installed both. */
const SDK_PLACES = ["./python/", "../../sdk/python/src/", "../../"];

/** The command's own copy of the Python package: the directory that holds `edgerun`. */
export function sdkDirectory(): string {
  const places = SDK_PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const found = places.find((place) => existsSync(join(place, "edgerun")));
  if (found === undefined) throw new Error(`the package edgerun is in none of ${places.join(", ")}`);
  return found;
}
