import { globSync } from "node:fs";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { MUTANTS } from "../mutants/list.ts";
import { misplacedIn, misplacedMutants } from "../mutants/places.ts";
import { PLANTED } from "../../test/simulation/planted.ts";
import { lockfileIsWhole } from "./lockfile.ts";
import { patternsAreLinear } from "./patterns.ts";
import { runTool, type Step, type StepOutcome } from "./step.ts";
import { findRetiredTerms } from "./glossary.ts";

/** Everything that must hold before a change is shared, cheapest first. */
export function checkSteps(root: string): readonly Step[] {
  const knip = (...args: string[]) => runTool(root, "knip/bin/knip.js", ["--no-progress", ...args]);
  return [
    { name: "lockfile", run: () => lockfileIsWhole(root) },
    { name: "format", run: () => runTool(root, "oxfmt/bin/oxfmt", ["--check"]) },
    { name: "lint", run: () => runTool(root, "oxlint/bin/oxlint", [], countWarnings) },
    { name: "patterns", run: () => patternsAreLinear(root) },
    { name: "glossary", run: async () => usesNoRetiredTerms(root) },
    { name: "mutants", run: async () => mutantsHavePlaces(root) },
    ...typedLayers(root).map((layer) => ({
      name: `types ${layer}`,
      // Each checker of a step checks again what the layers share, so one checker does a third of the work.
      run: () => runTool(root, "typescript/bin/tsc", ["-p", join(root, layer), "--checkers", "1"]),
    })),
    { name: "dead code", run: () => knip() },
    { name: "dead code, shipped", run: () => knip("--production") },
    { name: "migrations", run: () => migrationsMatchSchema(root) },
    { name: "bundle", run: () => bundleBuilds(root) },
  ];
}

function usesNoRetiredTerms(root: string): StepOutcome {
  const found = findRetiredTerms(root);
  if (found.length === 0) return { kind: "passed" };
  const lines = found.map(({ path, line, word }) => `${path}:${line}  ${word}`);
  const message = "These words are retired: docs/glossary.md has the words to use.";
  return { kind: "failed", output: [message, ...lines].join("\n") };
}

/** Each snippet of the list occurs exactly once, and each of its test files exists. */
function mutantsHavePlaces(root: string): StepOutcome {
  const misplaced = [...misplacedMutants(root, MUTANTS), ...misplacedIn(root, PLANTED)];
  if (misplaced.length === 0) return { kind: "passed", remark: `${MUTANTS.length} mutants` };
  return {
    kind: "failed",
    output: ["Repair scripts/mutants/, test/simulation/planted.ts:", ...misplaced].join("\n"),
  };
}

/** Every folder with its own tsconfig is a layer with its own runtime. */
function typedLayers(root: string): readonly string[] {
  return globSync("{src,node-agent,cli,standalone,console,scripts,test,bench,examples}/**/tsconfig.json", {
    cwd: root,
    exclude: (path) => path.includes("node_modules"),
  })
    .map((path) => dirname(path))
    .toSorted();
}

function countWarnings(output: string): string | undefined {
  const warnings = /Found (\d+) warnings?/.exec(output)?.[1];
  return warnings && warnings !== "0" ? `${warnings} warnings, see: npx oxlint` : undefined;
}

async function withTemporaryDirectory<T>(work: (path: string) => Promise<T>): Promise<T> {
  const path = await mkdtemp(join(tmpdir(), "edgerun-check-"));
  try {
    return await work(path);
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}

/** Generates into a copy: a schema that is ahead of the migrations leaves a new file there. */
async function migrationsMatchSchema(root: string): Promise<StepOutcome> {
  return await withTemporaryDirectory(async (copy) => {
    await cp(join(root, "drizzle"), copy, { recursive: true });
    const before = await readdir(copy);
    const schema = join(root, "src/db/schema.ts");
    const args = ["generate", "--dialect", "sqlite", "--schema", schema, "--out", copy];
    const outcome = await runTool(root, "drizzle-kit/bin.cjs", args);
    if (outcome.kind === "failed") return outcome;
    const added = (await readdir(copy)).filter((name) => !before.includes(name));
    if (added.length === 0) return { kind: "passed" };
    return {
      kind: "failed",
      output: "src/db/schema.ts has changes without a migration. Run: npx drizzle-kit generate",
    };
  });
}

/** Builds what a deployment would upload; wrangler refuses bound classes that are not exported. */
async function bundleBuilds(root: string): Promise<StepOutcome> {
  return await withTemporaryDirectory((directory) =>
    runTool(
      root,
      "wrangler/bin/wrangler.js",
      ["deploy", "--dry-run", "--outdir", directory],
      (output) => /Total Upload: (.*)/.exec(output)?.[1],
    ),
  );
}
