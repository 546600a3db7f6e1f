/**
 * `npm run mutants [id …]`: plants one small fault after another in a copy of the last commit and says whether the tests
 * that must notice it do. Without ids it runs all; `--list` only checks that each snippet and each test file exists.
 *
 * A mutant is killed when a test fails that passes without it. A test that runs into its time limit does not count: it
 * may have been slow. The exit status is 1 unless all are killed but those that the list calls equivalent or hanging.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MUTANTS } from "./mutants/list.ts";
import type { Mutant } from "./mutants/mutant.ts";
import {
  misplacedMutants,
  placeOf,
  readSources,
  readTestPaths,
  type TestSet,
  testSetsOf,
} from "./mutants/places.ts";
import { type Baseline, failuresOf, runBaseline } from "./mutants/test-run.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const COPIES = 2;

/** By Ctrl-C: no more tests run, and the copies are removed. */
const interruption = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => interruption.abort());

type Verdict = "killed" | "hung" | "error" | "survived" | "equivalent";

/** A copy of the last commit that shares the installed packages. Its test sets run once without any mutant. */
class Copy {
  readonly #root: string;
  readonly #baselines: Map<string, Promise<Baseline>>;

  constructor(root: string, baselines: Map<string, Promise<Baseline>>) {
    this.#root = root;
    this.#baselines = baselines;
  }

  async try(mutant: Mutant): Promise<Verdict> {
    const found: Verdict[] = [];
    for (const files of testSetsOf(readTestPaths(this.#root), mutant)) {
      const baseline = await this.#baselineOf(files);
      found.push(await this.#runWith(mutant, baseline));
      if (found.includes("killed")) return "killed";
    }
    const verdict = found.find((each) => each !== "survived") ?? "survived";
    return verdict === "survived" && mutant.equivalent !== undefined ? "equivalent" : verdict;
  }

  #baselineOf(files: TestSet): Promise<Baseline> {
    const key = files.join(" ");
    const baseline = this.#baselines.get(key) ?? runBaseline(this.#root, files, interruption.signal);
    this.#baselines.set(key, baseline);
    return baseline;
  }

  async #runWith(mutant: Mutant, baseline: Baseline): Promise<Verdict> {
    const { path, text, start, end } = placeOf(readSources(this.#root), mutant);
    const file = join(this.#root, path);
    writeFileSync(file, `${text.slice(0, start)}${mutant.replacement}${text.slice(end)}`);
    try {
      return await failuresOf(this.#root, baseline, interruption.signal);
    } finally {
      writeFileSync(file, text);
    }
  }
}

async function withCopy(work: (root: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "edgerun-mutants-"));
  const root = join(directory, "tree");
  const git = (...args: string[]) => execFileSync("git", args, { cwd: ROOT, stdio: "ignore" });
  git("worktree", "add", "--detach", root, "HEAD");
  try {
    shareModules(join(ROOT, "node_modules"), join(root, "node_modules"));
    await work(root);
  } finally {
    git("worktree", "remove", "--force", root);
    await rm(directory, { recursive: true, force: true });
  }
}

/** Links all packages. Caches are not shared: tests put the programs there that they build, mutants included. */
function shareModules(from: string, to: string): void {
  mkdirSync(to);
  const shared = readdirSync(from).filter((name) => name === ".bin" || !name.startsWith("."));
  for (const name of shared) symlinkSync(join(from, name), join(to, name));
}

async function runMutants(mutants: readonly Mutant[]): Promise<void> {
  const queue = [...mutants];
  const baselines = new Map<string, Promise<Baseline>>();
  const counts: Partial<Record<Verdict, number>> = {};
  const work = async (root: string) => {
    const copy = new Copy(root, baselines);
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      if (interruption.signal.aborted) return;
      const startedAt = Date.now();
      const verdict = await copy.try(mutant).catch((error: unknown): Verdict => {
        console.error(`${mutant.id}: ${error instanceof Error ? error.message : String(error)}`);
        return "error";
      });
      counts[verdict] = (counts[verdict] ?? 0) + 1;
      const isExpected = verdict === (mutant.hangs === undefined ? "killed" : "hung");
      if (!isExpected && verdict !== "equivalent") process.exitCode = 1;
      const seconds = Math.round((Date.now() - startedAt) / 1_000);
      console.log(`${mutant.id.padEnd(4)} ${verdict.padEnd(10)} ${seconds} s  ${mutant.snippet}`);
    }
  };
  await Promise.all(Array.from({ length: COPIES }, () => withCopy(work)));
  console.log(
    Object.entries(counts)
      .map(([verdict, count]) => `${count} ${verdict}`)
      .join(", "),
  );
}

const args = process.argv.slice(2);
const ids = args.filter((arg) => !arg.startsWith("--"));
const unknown = ids.filter((id) => MUTANTS.every((mutant) => mutant.id !== id));
const chosen = ids.length === 0 ? MUTANTS : MUTANTS.filter(({ id }) => ids.includes(id));
if (unknown.length > 0) throw new Error(`the list has no mutant ${unknown.join(", ")}`);
const misplaced = misplacedMutants(ROOT, chosen);
for (const message of misplaced) console.error(message);
if (misplaced.length > 0) process.exitCode = 1;
else if (!args.includes("--list")) await runMutants(chosen);
