/**
 * `npm run structure [tree]`: measures how the code is laid out: files, lines, folders, imports and retired words.
 * Takes the path of another checkout, so that two states can be compared.
 */
import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { parseSync } from "oxc-parser";
import { findRetiredTerms } from "./check/glossary.ts";

const AREAS = ["src", "node-agent", "cli"] as const;
const SMALL_FILE_LINES = 40;
const JOB_TYPES =
  /^(Job|WorkOrder|Submission|Dispatched|Delivered|Stored|Queued|Arrived|Received|Waiting|Submitted|Claimed|Submit)(Job|Request|View|Reply|$)|Job$/;

type SourceFile = {
  readonly path: string;
  readonly lines: number;
  readonly imports: readonly string[];
  readonly types: readonly string[];
};

const root = resolve(process.argv[2] ?? ".");
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
print("retired words", [], findRetiredTerms(root).length);

function print(what: string, details: readonly string[], figure: number): void {
  const listed = details.length === 0 ? "" : `  (${details.join(", ")})`;
  console.log(`${`${figure}`.padStart(7)}  ${what}${listed}`);
}

/** Tests, their support and type declarations apart. */
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

function jobTypes(): readonly string[] {
  return [
    ...new Set([...files.values()].flatMap(({ types }) => types.filter((name) => JOB_TYPES.test(name)))),
  ].toSorted();
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
