/** Packages of npm, installed by npm into a separate directory, either completely or not at all. */
import { constants, existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";
import { canAccess } from "../core/files.ts";
import { fetchFailure } from "./fetch-failure.ts";
import { discard, fileSizes, isWhole, seal, use } from "./package-directory.ts";
import { installationFiles, type PackageSet } from "./package-set.ts";

const POLL_MS = 400;
const LIMIT_MS = 900_000;

/** Overrides a user's configuration of npm, of which registry and proxy are used. */
const OPTIONS = [
  ...["--ignore-scripts", "--omit=optional", "--engine-strict=false", "--package-lock", "--global=false"],
  ...["--no-audit", "--no-fund", "--no-update-notifier", "--prefer-offline", "--loglevel=warn"],
  // Being offline is reported soon.
  ...["--fetch-retries=2", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=3000"],
];

/** Installs the whole set in `target`. Reports meanwhile how many bytes are unpacked. */
export async function fetchPackages(
  cli: Cli,
  set: PackageSet,
  target: string,
  onBytes: (bytes: number) => void,
): Promise<void> {
  let fresh: string | undefined;
  try {
    await mkdir(dirname(target), { recursive: true });
    fresh = await mkdtemp(`${target}.${process.pid}-`);
    for (const [name, content] of Object.entries(installationFiles(set))) {
      await writeFile(join(fresh, name), content);
    }
    await install(cli, fresh, onBytes);
    await seal(fresh);
    await use(fresh);
    await putInPlace(fresh, target);
  } catch (error) {
    cli.signal.throwIfAborted();
    throw error instanceof Failure ? error : fetchFailure(String(error), dirname(target));
  } finally {
    if (fresh !== undefined) await rm(fresh, { recursive: true, force: true });
  }
}

async function install(cli: Cli, directory: string, onBytes: (bytes: number) => void): Promise<void> {
  const [command, ...args] = await npmCommand();
  const running = execa(command, [...args, "ci", ...OPTIONS], {
    cwd: directory,
    env: withoutNpm(cli.environment),
    extendEnv: false,
    stdin: "ignore",
    all: true,
    cancelSignal: cli.signal,
    timeout: LIMIT_MS,
    reject: false,
  });
  const poll = setInterval(() => void sizeOf(directory).then(onBytes, () => {}), POLL_MS);
  try {
    const { failed, code, all, shortMessage } = await running;
    cli.signal.throwIfAborted();
    // When npm cannot write a file it prints that and continues.
    const isWhole = !/TAR_ENTRY_ERROR/.test(all ?? "");
    if (failed || !isWhole)
      throw code === "ENOENT" ? npmMissing() : fetchFailure(all || shortMessage || "", dirname(directory));
    onBytes(await sizeOf(directory));
  } finally {
    clearInterval(poll);
  }
}

async function sizeOf(directory: string): Promise<number> {
  return [...(await fileSizes(directory)).values()].reduce((sum, size) => sum + size, 0);
}

/** Most builds of Node include npm, the one of the Python package among them; a distribution may have its own. */
async function npmCommand(): Promise<[string, ...string[]]> {
  const beside = dirname(process.execPath);
  for (const modules of ["../lib/node_modules", "node_modules"]) {
    const script = join(beside, modules, "npm/bin/npm-cli.js");
    if (await canAccess(script, constants.R_OK)) return [process.execPath, script];
  }
  return [process.platform === "win32" ? "npm.cmd" : "npm"];
}

function npmMissing(): Failure {
  return new Failure("npm is needed once to fetch the Workers runtime, and it is not installed.", [
    "Install it: the package npm of your system, or Node from https://nodejs.org, which brings it.",
  ]);
}

/** The command itself may have been started by npm, whose settings are not meant for this installation. */
function withoutNpm(environment: Cli["environment"]): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !/^npm_/i.test(name)));
}

/** Puts a fetched package in place; of several processes that fetch it at once, the first one to be ready counts. */
async function putInPlace(fresh: string, target: string): Promise<void> {
  if (existsSync(target) && !(await isWhole(target))) await discard(target, isWhole);
  try {
    await rename(fresh, target);
  } catch (error) {
    if (!(await isWhole(target))) throw error;
    await use(target);
  }
}
