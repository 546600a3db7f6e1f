/**
 * `npm run structure -- [--time] [tree]`: measures how the code is laid out: files, lines, folders, imports, types of a
 * job, files that a job passes, and retired words. `--time` also runs all tests and measures their processor time.
 * Takes the path of another checkout, so that two states can be compared.
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { parseSync } from "oxc-parser";
import { findRetiredTerms } from "./check/glossary.ts";

const AREAS = ["src", "node-agent", "cli"] as const;
const SMALL_FILE_LINES = 40;
const JOB_TYPES =
  /^(Job|WorkOrder|Submission|Dispatched|Delivered|Stored|Queued|Arrived|Received|Waiting|Submitted|Claimed|Submit)(Job|Request|View|Reply|$)|Job$|^AttemptReport$|^Claim$/;
/** Follows one job through the code, a row of a table for each step. */
const LIFE_OF_A_JOB = "docs/explanation/life-of-a-job.md";
const OWN_TIMES = "/proc/self/stat";
const CLOCK_TICKS_PER_SECOND = 100;

type SourceFile = {
  readonly path: string;
  readonly lines: number;
  readonly imports: readonly string[];
  readonly types: readonly string[];
};

const { values, positionals } = parseArgs({
  options: { time: { type: "boolean", default: false } },
  allowPositionals: true,
});
const root = resolve(positionals[0] ?? ".");
const files = new Map(productionFiles().map((path) => [path, readSource(path)]));
const importers = countImporters();

print(
  "production files",
  AREAS.map((area) => `${area} ${inArea(area).length}`),
  files.size,
);
print(
  "production lines",
  AREAS.map((area) => `${area} ${linesOf(inArea(area))}`),
  linesOf([...files.values()]),
);
print("files under 40 lines with one importer", [], smallWithOneImporter().length);
print("largest folder", [largestFolder().folder], largestFolder().count);
print("folders with more than 20 files", foldersAbove(20), foldersAbove(20).length);
print("fan-in of the most imported file", [mostImported().path], mostImported().count);
print(
  "import cycles, types included",
  cycles().map((cycle) => cycle.join(" <-> ")),
  cycles().length,
);
print("types of a job", jobTypes(), jobTypes().length);
print("files that a job passes, from the client and back", [], filesOfAJob());
print("retired words", [], findRetiredTerms(root).length);
if (values.time) print("seconds of processor time of npm test", [], testSeconds());

function print(what: string, details: readonly string[], figure: number): void {
  const listed = details.length === 0 ? "" : `  (${details.join(", ")})`;
  console.log(`${`${figure}`.padStart(7)}  ${what}${listed}`);
}

/** Without tests, their support and type declarations. */
function productionFiles(): readonly string[] {
  return globSync(`{${AREAS.join(",")}}/**/*.ts`, { cwd: root })
    .filter((path) => !/\.test\.ts$|\.d\.ts$|node_modules/.test(path))
    .toSorted();
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(root, path), "utf8");
  const { module, program } = parseSync(path, text);
  const specifiers = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
    ),
    ...module.dynamicImports.map(({ moduleRequest }) =>
      text.slice(moduleRequest.start + 1, moduleRequest.end - 1),
    ),
  ];
  const imports = specifiers
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => relative(root, resolve(root, dirname(path), specifier)));
  return {
    path,
    lines: text.split("\n").length - 1,
    imports: [...new Set(imports)],
    types: typesOf(program.body),
  };
}

function typesOf(body: ReturnType<typeof parseSync>["program"]["body"]): readonly string[] {
  return body.flatMap((statement) => {
    const declared = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    return declared?.type === "TSTypeAliasDeclaration" || declared?.type === "TSInterfaceDeclaration"
      ? [declared.id.name]
      : [];
  });
}

function countImporters(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { imports } of files.values()) {
    for (const path of imports) counts.set(path, (counts.get(path) ?? 0) + 1);
  }
  return counts;
}

function inArea(area: string): readonly SourceFile[] {
  return [...files.values()].filter(({ path }) => path.startsWith(`${area}/`));
}

function linesOf(sources: readonly SourceFile[]): number {
  return sources.reduce((sum, { lines }) => sum + lines, 0);
}

function smallWithOneImporter(): readonly SourceFile[] {
  return [...files.values()].filter(
    ({ path, lines }) => lines <= SMALL_FILE_LINES && importers.get(path) === 1,
  );
}

function folderSizes(): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const path of files.keys()) sizes.set(dirname(path), (sizes.get(dirname(path)) ?? 0) + 1);
  return sizes;
}

function largestFolder(): { readonly folder: string; readonly count: number } {
  const [folder, count] = [...folderSizes()].toSorted(([, a], [, b]) => b - a)[0] ?? ["", 0];
  return { folder, count };
}

function foldersAbove(most: number): readonly string[] {
  return [...folderSizes()]
    .filter(([, count]) => count > most)
    .map(([folder, count]) => `${folder} ${count}`);
}

function mostImported(): { readonly path: string; readonly count: number } {
  const [path, count] = [...importers].toSorted(([, a], [, b]) => b - a)[0] ?? ["", 0];
  return { path, count };
}

/** One for each definition: two of the same name count twice. */
function jobTypes(): readonly string[] {
  return [...files.values()].flatMap(({ types }) => types.filter((name) => JOB_TYPES.test(name))).toSorted();
}

/** NaN where the tree has no such document. */
function filesOfAJob(): number {
  const path = join(root, LIFE_OF_A_JOB);
  if (!existsSync(path)) return Number.NaN;
  const steps = readFileSync(path, "utf8").matchAll(/^\| *\d+ *\| *`([^`]+)`/gm);
  return new Set([...steps].map(([, file]) => file)).size;
}

/**
 * User and system time of all tests and of what they start, as `time npm test` counts it on Linux: without containers,
 * and without processes whose parent was killed. NaN where tests fail, or there is no /proc.
 */
function testSeconds(): number {
  const bootstrap = join(root, "scripts/bootstrap.mjs");
  const { status } = spawnSync(process.execPath, [bootstrap, "test"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0 || !existsSync(OWN_TIMES)) return Number.NaN;
  // The name of the program comes second, in parentheses; cutime and cstime are the fields 16 and 17.
  const fields = readFileSync(OWN_TIMES, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return Math.round((Number(fields[13]) + Number(fields[14])) / CLOCK_TICKS_PER_SECOND);
}

/** Tarjan's strongly connected components of more than one file. */
function cycles(): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  function visit(path: string): number {
    const index = order.size;
    order.set(path, index);
    low.set(path, index);
    stack.push(path);
    for (const next of files.get(path)?.imports ?? []) {
      if (!files.has(next)) continue;
      const reached = order.has(next)
        ? stack.includes(next)
          ? (order.get(next) ?? index)
          : index
        : visit(next);
      low.set(path, Math.min(low.get(path) ?? index, reached));
    }
    if (low.get(path) === index) {
      const component = stack.splice(stack.indexOf(path));
      if (component.length > 1) found.push(component.map((member) => basename(member)));
    }
    return low.get(path) ?? index;
  }
  for (const path of files.keys()) if (!order.has(path)) visit(path);
  return found;
}
