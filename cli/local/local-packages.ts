/**
 * What the local edge runs on, and what is too large to be part of the command: Miniflare with the Workers runtime, and
 * a newer Node where the computer's is too old. Fetched once per version into this user's cache,
 * and again when files are missing from it.
 */
import { ignoreFailure } from "../../src/std/errors.ts";
import { createRequire } from "node:module";
import { join } from "node:path";
import prettyBytes from "pretty-bytes";
import { AGENT_NODE_MIN, isEarlier } from "../../src/contract/agent/agent-version.ts";
import { cacheDirectory } from "../core/cache-directory.ts";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";
import { secondsSince } from "../core/format.ts";
import { inStep } from "../core/terminal.ts";
import { fetchPackages } from "./package-fetch.ts";
import { isWhole, removeUnused, use } from "./package-directory.ts";
import { type PackageSet, readPackageSet, requireRuntimePlatform } from "./package-set.ts";

/** What each set takes, in MB, about: on the way, and on the disk. */
const SIZES: ReadonlyMap<string, { readonly fetched: number; readonly unpacked: number }> = new Map([
  ["miniflare", { fetched: 50, unpacked: 165 }],
  ["node", { fetched: 45, unpacked: 190 }],
]);
const MEGABYTE = 1_000_000;

export type LocalPackages = {
  /** A directory from which Node finds Miniflare. */
  readonly directory: string;
  /** The Node that runs the local edge. */
  readonly node: string;
};

/** Finds the sets of packages that `sources` has a directory each for; fetches what is missing. */
export async function ensureLocalPackages(cli: Cli, sources: string): Promise<LocalPackages> {
  const miniflare = readPackageSet(join(sources, "miniflare"));
  const node = isEarlier(process.versions.node, AGENT_NODE_MIN) ? nodeSet(sources) : undefined;
  const isThere = hasMiniflare(sources, miniflare);
  const required = [...(isThere ? [] : [miniflare]), ...(node ? [node] : [])];
  const targets = required.map((set) => targetOf(cli, set));
  await removeUnused(cacheDirectory(cli.environment), targets);
  const isUsable = await Promise.all(targets.map(markUsed));
  await fetchAll(
    cli,
    required.filter((_, index) => isUsable[index] !== true),
  );
  return {
    directory: isThere ? sources : targetOf(cli, miniflare),
    node: node ? programIn(targetOf(cli, node), node) : process.execPath,
  };
}

/** Whether programs can run from the directory; from now on, no other command removes it. */
async function markUsed(target: string): Promise<boolean> {
  await use(target).catch(ignoreFailure); // A cache that cannot be written to serves as well.
  return await isWhole(target);
}

/** In a checkout of Edgerun it is installed. */
function hasMiniflare(sources: string, { manifest }: PackageSet): boolean {
  try {
    const found = createRequire(join(sources, "package.json"))("miniflare/package.json") as {
      version: string;
    };
    return found.version === manifest.dependencies?.["miniflare"];
  } catch {
    return false;
  }
}

function nodeSet(sources: string): PackageSet {
  const set = readPackageSet(join(sources, "node"));
  if (set.native !== undefined) return set;
  throw new Failure(`Node ${process.versions.node} is too old for the local edge.`, [
    `Install Node ${AGENT_NODE_MIN} or later: https://nodejs.org.`,
  ]);
}

function targetOf(cli: Cli, { name, fingerprint }: PackageSet): string {
  return join(cacheDirectory(cli.environment), `${name}-${process.platform}-${process.arch}-${fingerprint}`);
}

function programIn(directory: string, { native = "" }: PackageSet): string {
  const file = process.platform === "win32" ? "node.exe" : "node";
  return join(directory, "node_modules", native, "bin", file);
}

// Fetching

async function fetchAll(cli: Cli, sets: readonly PackageSet[]): Promise<void> {
  if (sets.length === 0) return;
  requireRuntimePlatform();
  const startedAt = performance.now();
  const title = `Fetching the Workers runtime, once (${sumOf(sets, "fetched")} MB)`;
  await inStep(cli.terminal, { title, failed: "The Workers runtime was not fetched" }, async (step) => {
    const bytes = new Map<PackageSet, number>();
    const sum = (): number => [...bytes.values()].reduce((all, each) => all + each, 0);
    const report = (set: PackageSet, written: number): void => {
      bytes.set(set, written);
      if (sum() < MEGABYTE) return;
      step.update(`${Math.round(sum() / MEGABYTE)} of ${sumOf(sets, "unpacked")} MB on disk`);
    };
    await settleAll(
      sets.map((set) => fetchPackages(cli, set, targetOf(cli, set), (written) => report(set, written))),
    );
    step.done(
      `Fetched the Workers runtime: ${prettyBytes(sum())} in ${cacheDirectory(cli.environment)} (${secondsSince(startedAt)} s)`,
    );
  });
}

/** Waits for all work to end before it reports a failure, so that none continues in the background. */
async function settleAll(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

function sumOf(sets: readonly PackageSet[], what: "fetched" | "unpacked"): number {
  return sets.reduce((sum, { name }) => sum + (SIZES.get(name)?.[what] ?? 0), 0);
}
