/**
 * Proves that no regular expression takes more than linear time, whatever text it is given: a pattern that goes back
 * and forth over a caller's text lets one request occupy the edge for minutes. What cannot be proven fails as well;
 * most such patterns become provable by a smaller class of characters, or are string functions in truth.
 */
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type CallExpression, type NewExpression, parseSync, Visitor } from "oxc-parser";
import { check } from "recheck";
import type { StepOutcome } from "./step.ts";

const SOURCES = "{src,node-agent,cli,standalone,console,scripts}/**/*.{ts,js,mjs}";
/** Limit of the search for a proof, per pattern. All present ones need a fiftieth of it. */
const PROOF_LIMIT_MS = 60_000;
/** Whether a repetition is bounded by ten or by a thousand is the same to a proof of linear time. */
const AUTOMATON = { checker: "automaton", timeout: PROOF_LIMIT_MS } as const;

export type FoundPattern = { readonly source: string; readonly flags: string; readonly places: string[] };

/** Fails with each pattern of the repository that is not proven to be linear. */
export async function patternsAreLinear(root: string): Promise<StepOutcome> {
  const paths = globSync(SOURCES, { cwd: root, exclude: (path) => /node_modules|\.test\.ts$/.test(path) });
  const patterns = new Map<string, FoundPattern>();
  const issues: string[] = [];
  for (const path of paths.toSorted()) {
    const { literals, constructed } = patternsOf(path, await readFile(join(root, path), "utf8"));
    issues.push(...constructed.map((place) => `${place}  built at run time, so it cannot be checked`));
    for (const { source, flags, place } of literals) {
      const known = patterns.get(`/${source}/${flags}`);
      if (known) known.places.push(place);
      else patterns.set(`/${source}/${flags}`, { source, flags, places: [place] });
    }
  }
  for (const pattern of patterns.values()) {
    const issue = await issueOf(pattern);
    if (issue !== undefined) issues.push(...pattern.places.map((place) => `${place}  ${issue}`));
  }
  if (issues.length === 0) return { kind: "passed", remark: `${patterns.size} patterns` };
  return { kind: "failed", output: ["Not proven to take linear time:", ...issues].join("\n") };
}

/** Why a pattern is rejected; undefined when it is proven to be linear. */
export async function issueOf({
  source,
  flags,
}: Pick<FoundPattern, "source" | "flags">): Promise<string | undefined> {
  const verdict = await check(source, flags, AUTOMATON);
  if (verdict.status === "safe") return undefined;
  const why = verdict.status === "vulnerable" ? verdict.complexity.summary : verdict.error.kind;
  return `${why}: /${source}/${flags}`;
}

type Literal = { readonly source: string; readonly flags: string; readonly place: string };

/** The literals of a file, and the places where it builds patterns from strings. */
export function patternsOf(path: string, text: string): { literals: Literal[]; constructed: string[] } {
  const literals: Literal[] = [];
  const constructed: string[] = [];
  const placeOf = (offset: number) => `${path}:${text.slice(0, offset).split("\n").length}`;
  const recordCall = ({ callee, start }: CallExpression | NewExpression) => {
    if (callee.type === "Identifier" && callee.name === "RegExp") constructed.push(placeOf(start));
  };
  new Visitor({
    Literal(node) {
      if (!("regex" in node)) return;
      const { pattern, flags } = node.regex;
      literals.push({ source: pattern, flags, place: placeOf(node.start) });
    },
    NewExpression: recordCall,
    CallExpression: recordCall,
  }).visit(parseSync(path, text).program);
  return { literals, constructed };
}
