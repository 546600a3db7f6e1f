/**
 * What the local edge runs on, and what is too large to come with the command: Miniflare with the Workers runtime, and
 * a newer Node where the computer's is too old. Fetched once per version into this person's cache.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import prettyBytes from "pretty-bytes";
import { AGENT_NODE_MIN, isEarlier } from "../../src/contract/agent-version.ts";
import type { Cli } from "../cli.ts";
import { Failure } from "../failure.ts";
import { secondsSince } from "../terminal/seconds.ts";
import { fetchPackages } from "./package-fetch.ts";
import { requireRuntimePlatform } from "./runtime-platform.ts";

/** What each set takes, in MB, about: on the way, and on the disk. */
const SIZES: Readonly<Record<string, { readonly fetched: number; readonly unpacked: number }>> = {
  miniflare: { fetched: 60, unpacked: 185 },
  node: { fetched: 45, unpacked: 190 },
};
const MEGABYTE = 1_000_000;

export type LocalPackages = {
  /** A directory from which Node finds Miniflare. */
  readonly directory: string;
  /** The Node that runs the local edge. */
  readonly node: string;
};

/** Finds what `sources` lists, which has a directory with package.json and lockfile for each set; fetches what is missing. */
export async function ensureLocalPackages(cli: Cli, sources: string): Promise<LocalPackages> {
  const needsNode = isEarlier(process.versions.node, AGENT_NODE_MIN) === true;
  const miniflare = join(sources, "miniflare");
  const isThere = hasMiniflare(miniflare);
  const missing = [...(isThere ? [] : [miniflare]), ...(needsNode ? [join(sources, "node")] : [])];
  const wanted = missing.map((source) => ({ source, target: targetOf(cli, source) }));
  await fetchAll(
    cli,
    wanted.filter(({ target }) => !existsSync(target)),
  );
  return {
    directory: isThere ? miniflare : targetOf(cli, miniflare),
    node: needsNode ? nodeIn(targetOf(cli, join(sources, "node"))) : process.execPath,
  };
}

/** Of this person, for what can be had again. */
export function cacheDirectory({ environment }: Pick<Cli, "environment">): string {
  const home = environment["HOME"] || homedir();
  const base =
    environment["XDG_CACHE_HOME"] ||
    (process.platform === "win32" ? environment["LOCALAPPDATA"] : undefined) ||
    (process.platform === "darwin" ? join(home, "Library", "Caches") : join(home, ".cache"));
  return join(base, "edgerun");
}

/** In a checkout of Edgerun it is installed, and the lockfile's version is the one that is there. */
function hasMiniflare(source: string): boolean {
  const { dependencies } = JSON.parse(readFileSync(join(source, "package.json"), "utf8")) as {
    dependencies: { miniflare: string };
  };
  try {
    const found = createRequire(join(source, "package.json"))("miniflare/package.json") as {
      version: string;
    };
    return found.version === dependencies.miniflare;
  } catch {
    return false;
  }
}

function targetOf(cli: Cli, source: string): string {
  const lock = createHash("sha256")
    .update(readFileSync(join(source, "package-lock.json")))
    .digest("hex");
  const { platform, arch } = process;
  return join(cacheDirectory(cli), `${basename(source)}-${platform}-${arch}-${lock.slice(0, 12)}`);
}

type Wanted = { readonly source: string; readonly target: string };

async function fetchAll(cli: Cli, wanted: readonly Wanted[]): Promise<void> {
  if (wanted.length === 0) return;
  requireRuntimePlatform();
  const startedAt = performance.now();
  const fetched = sumOf(wanted, "fetched");
  const step = cli.terminal.step(`Fetching the Workers runtime, once (${fetched} MB)`);
  let bytes = 0;
  try {
    for (const { source, target } of wanted) {
      const before = bytes;
      await fetchPackages(cli, source, target, (written) => {
        bytes = before + written;
        if (bytes < MEGABYTE) return;
        step.update(`${Math.round(bytes / MEGABYTE)} of ${sumOf(wanted, "unpacked")} MB on disk`);
      });
    }
  } catch (error) {
    step.fail("The Workers runtime was not fetched");
    throw error;
  }
  step.done(
    `Fetched the Workers runtime: ${prettyBytes(bytes)} in ${cacheDirectory(cli)} (${secondsSince(startedAt)} s)`,
  );
}

function sumOf(wanted: readonly Wanted[], what: "fetched" | "unpacked"): number {
  return wanted.reduce((sum, { source }) => sum + (SIZES[basename(source)]?.[what] ?? 0), 0);
}

function nodeIn(directory: string): string {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const names = [`node-${platform}-${process.arch}`, `node-bin-${platform}-${process.arch}`];
  const file = platform === "win" ? "node.exe" : "node";
  const places = names.map((name) => join(directory, "node_modules", name, "bin", file));
  const found = places.find((place) => existsSync(place));
  if (found !== undefined) return found;
  throw new Failure(`Node ${process.versions.node} is too old for --local.`, [
    `Install Node ${AGENT_NODE_MIN} or later: https://nodejs.org.`,
  ]);
}
