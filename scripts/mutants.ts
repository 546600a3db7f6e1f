/**
 * `npm run mutants [id …]`: plants one small fault after another in a copy of the last commit and says whether the tests
 * that must notice it do. Without ids it runs all; `--list` only checks that each place is still there.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Mutant, MUTANTS } from "./mutants/list.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const MUTANT_LIMIT_MS = 60_000;
/** A mutant that makes a test wait for ever is noticed in seconds. */
const TEST_LIMIT_MS = 15_000;

type Verdict = "killed" | "hung" | "survived";
type Place = { readonly path: string; readonly text: string; readonly start: number; readonly end: number };

/** Finds the snippet, whatever blanks it is broken by. Throws where it does not occur exactly once. */
function placeOf(root: string, { id, snippet }: Mutant): Place {
  const tokens = snippet.trim().split(/\s+/);
  const pattern = new RegExp(tokens.map(escaped).join("\\s+"), "g");
  const paths = globSync("{src,node-agent}/**/*.ts", { cwd: root }).filter(
    (path) => !path.endsWith(".test.ts"),
  );
  const places = paths.flatMap((path) => {
    const text = readFileSync(join(root, path), "utf8");
    return [...text.matchAll(pattern)].map(({ index, 0: found }) => {
      return { path, text, start: index, end: index + found.length };
    });
  });
  const [place] = places;
  if (place !== undefined && places.length === 1) return place;
  const where = places.map(({ path }) => path).join(", ") || "nowhere";
  throw new Error(`${id}: the snippet occurs ${places.length} times (${where}): ${snippet}`);
}

function escaped(word: string): string {
  return word.replaceAll(/[^\w\s]/g, String.raw`\$&`);
}

async function tryMutant(copy: string, mutant: Mutant): Promise<Verdict> {
  const { path, text, start, end } = placeOf(copy, mutant);
  const file = join(copy, path);
  writeFileSync(file, `${text.slice(0, start)}${mutant.replacement}${text.slice(end)}`);
  try {
    return await runTests(copy, mutant.tests);
  } finally {
    writeFileSync(file, text);
  }
}

/** A run that fails has noticed the mutant; so has one that does not end, which is worth a look. */
async function runTests(copy: string, tests: readonly string[]): Promise<Verdict> {
  const limits = ["--bail", "1", "--testTimeout", String(TEST_LIMIT_MS)];
  const child = spawn(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", "run", "--passWithNoTests=false", ...limits, ...tests],
    { cwd: copy, stdio: "ignore", detached: true },
  );
  const ended = once(child, "exit").then(([code]): Verdict => (code === 0 ? "survived" : "killed"));
  const verdict = await Promise.race([ended, delay<Verdict>(MUTANT_LIMIT_MS, "hung", { ref: false })]);
  if (verdict === "hung" && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  await ended;
  return verdict;
}

/** Runs with a copy of the last commit, which shares the installed packages. */
async function withCopy(work: (copy: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "edgerun-mutants-"));
  const copy = join(directory, "tree");
  const git = (...args: string[]) => execFileSync("git", args, { cwd: ROOT, stdio: "ignore" });
  git("worktree", "add", "--detach", copy, "HEAD");
  try {
    symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
    await work(copy);
  } finally {
    git("worktree", "remove", "--force", copy);
    await rm(directory, { recursive: true, force: true });
  }
}

/** Prints every snippet that is not found once. */
function checkPlaces(mutants: readonly Mutant[]): boolean {
  const lost = mutants.flatMap((mutant) => {
    try {
      placeOf(ROOT, mutant);
      return [];
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)];
    }
  });
  for (const message of lost) console.error(message);
  return lost.length === 0;
}

const args = process.argv.slice(2);
const ids = args.filter((arg) => !arg.startsWith("--"));
const chosen = ids.length === 0 ? MUTANTS : MUTANTS.filter(({ id }) => ids.includes(id));
if (!checkPlaces(chosen)) process.exitCode = 1;
else if (!args.includes("--list")) {
  await withCopy(async (copy) => {
    for (const mutant of chosen) {
      const startedAt = Date.now();
      const verdict = await tryMutant(copy, mutant);
      if (verdict === "survived") process.exitCode = 1;
      const seconds = Math.round((Date.now() - startedAt) / 1_000);
      console.log(`${mutant.id.padEnd(4)} ${verdict.padEnd(8)} ${seconds} s  ${mutant.snippet}`);
    }
  });
}
