/** Where a mutant is planted, and which test files must notice it. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mutant } from "./mutant.ts";

const SOURCE_FILES = "{src,node-agent}/**/*.ts";
const TEST_FILES = "{src,node-agent,cli,test}/**/*.test.ts";

export type Place = {
  readonly path: string;
  readonly text: string;
  readonly start: number;
  readonly end: number;
};
/** The files that a mutant's filter stands for, in one run. */
export type TestSet = readonly string[];

/** A file of the shipped code; `characters` is its text without whitespace. */
type Source = { readonly path: string; readonly text: string; readonly characters: string };

/** All files below `root` where mutants are planted, as they are now. */
export function readSources(root: string): readonly Source[] {
  const paths = globSync(SOURCE_FILES, { cwd: root }).filter((path) => !path.endsWith(".test.ts"));
  return paths.map((path) => {
    const text = readFileSync(join(root, path), "utf8");
    return { path, text, characters: text.replaceAll(/\s/g, "") };
  });
}

/** Finds the snippet, whatever whitespace it contains. Throws if it does not occur exactly once. */
export function placeOf(sources: readonly Source[], { id, snippet }: Mutant): Place {
  const characters = snippet.replaceAll(/\s/g, "");
  const places = sources.flatMap((source) => placesIn(source, characters));
  const [place] = places;
  if (place !== undefined && places.length === 1) return place;
  const where = places.map(({ path }) => path).join(", ") || "nowhere";
  throw new Error(`${id}: the snippet occurs ${places.length} times (${where}): ${snippet}`);
}

function placesIn({ path, text, characters }: Source, searched: string): Place[] {
  const places: Place[] = [];
  for (let at = characters.indexOf(searched); at >= 0; at = characters.indexOf(searched, at + 1)) {
    const offsets = [...text.matchAll(/\S/g)].map(({ index }) => index);
    const start = offsets[at] ?? 0;
    places.push({ path, text, start, end: (offsets[at + searched.length - 1] ?? start) + 1 });
  }
  return places;
}

/** All test files below `root`, as paths relative to it. */
export function readTestPaths(root: string): readonly string[] {
  return globSync(TEST_FILES, { cwd: root });
}

/** The test files of each filter of the mutant. Throws if a filter has none. */
export function testSetsOf(paths: readonly string[], { id, tests }: Mutant): readonly TestSet[] {
  if (tests.length === 0) throw new Error(`${id}: no tests`);
  return tests.map((filter) => {
    const files = paths.filter((path) => filter !== "" && path.includes(filter));
    if (files.length === 0) throw new Error(`${id}: no test file matches "${filter}"`);
    return files.toSorted();
  });
}

/** A message for every mutant whose snippet is not found once, or with a filter that has no files. */
export function misplacedMutants(root: string, mutants: readonly Mutant[]): readonly string[] {
  const paths = readTestPaths(root);
  return [
    ...misplacedIn(root, mutants),
    ...mutants.flatMap((mutant) => problemOf(() => testSetsOf(paths, mutant))),
  ];
}

/** A message for every mutant whose snippet is not found once. */
export function misplacedIn(root: string, mutants: readonly Mutant[]): readonly string[] {
  const sources = readSources(root);
  return mutants.flatMap((mutant) => problemOf(() => placeOf(sources, mutant)));
}

function problemOf(find: () => unknown): readonly string[] {
  try {
    find();
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
