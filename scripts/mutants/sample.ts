/**
 * `node scripts/mutants/sample.ts <seed> <count> <folder>`: picks random places of the code below a folder and prints a
 * mutant for each, to be completed with its tests and added to the list. The same seed and tree give the same sample.
 */
import { globSync, readFileSync } from "node:fs";
import { parseSync, Visitor } from "oxc-parser";

type Span = { readonly start: number; readonly end: number };
type Candidate = Span & { readonly path: string; readonly text: string; readonly replacement: string };

const FLIPS: ReadonlyMap<string, string> = new Map([
  ["<", "<="],
  ["<=", "<"],
  [">", ">="],
  [">=", ">"],
  ["===", "!=="],
  ["!==", "==="],
  ["&&", "||"],
  ["||", "&&"],
  ["+", "-"],
  ["-", "+"],
]);
/** A snippet grows by its context until it occurs once, up to this many characters. */
const SNIPPET_MAX = 200;

/** One mutant for each operator, number, branch and statement whose value nobody uses. */
function candidatesOf(path: string): readonly Candidate[] {
  const text = readFileSync(path, "utf8");
  const found: Candidate[] = [];
  const add = ({ start, end }: Span, replacement: string) =>
    found.push({ path, text, start, end, replacement });
  const source = ({ start, end }: Span) => text.slice(start, end);
  const flip = (node: Span & { left: Span; right: Span; operator: string }) => {
    const operator = FLIPS.get(node.operator);
    if (operator === undefined || /["`]/.test(source(node.left) + source(node.right).slice(0, 1))) return;
    const between = { start: node.left.end, end: node.right.start };
    add(node, source(node.left) + source(between).replace(node.operator, operator) + source(node.right));
  };
  new Visitor({
    BinaryExpression: flip,
    LogicalExpression: flip,
    ConditionalExpression: (node) =>
      add(node, `${source(node.test)} ? ${source(node.alternate)} : ${source(node.consequent)}`),
    IfStatement: (node) => add(node.test, `!(${source(node.test)})`),
    Literal: (node) => {
      if (typeof node.value === "number") add(node, String(node.value + 1));
    },
    ExpressionStatement: (node) => add(node, ""),
  }).visit(parseSync(path, text).program);
  return found;
}

/** Mulberry32. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The candidate with as much of the code around it as makes its snippet occur once in all files. */
function withContext({ path, text, start, end, replacement }: Candidate, all: string): string | undefined {
  for (let extra = 0; end - start + 2 * extra <= SNIPPET_MAX; extra++) {
    const before = text.slice(Math.max(0, start - extra), start);
    const after = text.slice(end, end + extra);
    const snippet = `${before}${text.slice(start, end)}${after}`.replaceAll(/\s+/g, " ").trim();
    if (occurrences(all, snippet) > 1 || !isWhole(text, start - extra, end + extra)) continue;
    const mutated = `${before}${replacement}${after}`.replaceAll(/\s+/g, " ").trim();
    return `// ${path}\nmutant("S", ${JSON.stringify(snippet)}, ${JSON.stringify(mutated)}, "TESTS"),`;
  }
  return undefined;
}

/** Whether the cut does not go through a word. */
function isWhole(text: string, start: number, end: number): boolean {
  const isWord = (at: number) => /\w/.test(text[at] ?? "");
  return !(isWord(start - 1) && isWord(start)) && !(isWord(end - 1) && isWord(end));
}

function occurrences(all: string, snippet: string): number {
  return all.split(snippet).length - 1;
}

const [seed = "1", count = "10", folder = "src/domain"] = process.argv.slice(2);
const sources = (below: string) =>
  globSync(`${below}/**/*.ts`)
    .filter((path) => !path.endsWith(".test.ts"))
    .toSorted();
const all = ["src", "node-agent"]
  .flatMap(sources)
  .map((path) => readFileSync(path, "utf8").replaceAll(/\s+/g, " "))
  .join("\n");
const candidates = sources(folder).flatMap(candidatesOf);
const random = randomNumbers(Number(seed));
let left = Number(count);
while (left > 0 && candidates.length > 0) {
  const [candidate] = candidates.splice(Math.floor(random() * candidates.length), 1);
  const entry = candidate && withContext(candidate, all);
  if (entry === undefined) continue;
  console.log(entry);
  left--;
}
