/**
 * Finds retired words. `docs/glossary.md` ends with two lists: words that stand nowhere, and words that are no part of
 * a name in code; and with the wire and stored names that keep an older word because others rely on them.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";

const GLOSSARY = fileURLToPath(new URL("../../docs/glossary.md", import.meta.url));
const CODE = /\.(ts|mts|mjs|js|py)$/;
const READ = /\.(ts|mts|mjs|js|py|md|sh|toml|yml|yaml|html|css)$/;
/** The list itself, files of third parties, and history. */
const EXEMPT = /^docs\/glossary\.md$|^CHANGELOG\.md$|^drizzle\/|^test\/clients\/|^scripts\/check\/glossary/;

export type RetiredTerm = { readonly path: string; readonly line: number; readonly word: string };

type RetiredLists = {
  readonly anywhere: readonly string[];
  readonly inNames: ReadonlySet<string>;
  readonly allowed: ReadonlySet<string>;
};

export function findRetiredTerms(root: string): readonly RetiredTerm[] {
  const lists = readLists(readFileSync(GLOSSARY, "utf8"));
  return trackedFiles(root).flatMap((path) => {
    const text = readFileSync(join(root, path), "utf8");
    return [...inText(path, text, lists), ...(CODE.test(path) ? inNames(path, text, lists) : [])];
  });
}

function trackedFiles(root: string): readonly string[] {
  const options = { cwd: root, encoding: "utf8", maxBuffer: 16 * 1024 * 1024 } as const;
  return execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], options)
    .split("\n")
    .filter((path) => READ.test(path) && !EXEMPT.test(path) && existsSync(join(root, path)));
}

function readLists(glossary: string): RetiredLists {
  return {
    anywhere: listUnder(glossary, "Nowhere"),
    inNames: new Set(listUnder(glossary, "In no name")),
    allowed: new Set(listUnder(glossary, "Names that stay")),
  };
}

/** The words in backticks under a heading. */
function listUnder(glossary: string, heading: string): readonly string[] {
  const section = glossary.split(`### ${heading}\n`)[1]?.split("\n#")[0] ?? "";
  return [...section.matchAll(/`([^`\n]+)`/g)].map(([, word]) => word ?? "");
}

function inText(path: string, text: string, { anywhere }: RetiredLists): readonly RetiredTerm[] {
  return text.split("\n").flatMap((content, index) => {
    const spaced = ` ${(content.toLowerCase().match(/[\p{L}\p{N}_']+/gu) ?? []).join(" ")} `;
    const found = anywhere.filter((phrase) => spaced.includes(` ${phrase} `));
    return found.map((word) => ({ path, line: index + 1, word }));
  });
}

/** Names are read from the tokens, so that comments and strings do not count. */
function inNames(
  path: string,
  text: string,
  { inNames: retired, allowed }: RetiredLists,
): readonly RetiredTerm[] {
  const names = namesOf(path, text);
  return names
    .filter(({ name }) => !allowed.has(name) && partsOf(name).some((part) => retired.has(part)))
    .map(({ name, at }) => ({ path, line: text.slice(0, at).split("\n").length, word: name }));
}

/** Comments, strings, and names, which are the only group. */
const PYTHON_TOKENS = /#.*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|([A-Za-z_]\w*)/g;

function pythonNames(text: string): readonly { readonly name: string; readonly at: number }[] {
  const code = text.split('"""').map((part, index) => (index % 2 === 0 ? part : " ".repeat(part.length)));
  return [...code.join("   ").matchAll(PYTHON_TOKENS)].flatMap(({ 1: name, index }) =>
    name === undefined ? [] : [{ name, at: index }],
  );
}

function namesOf(path: string, text: string): readonly { readonly name: string; readonly at: number }[] {
  if (path.endsWith(".py")) return pythonNames(text);
  const names = new Map<number, string>();
  const { program } = parseSync(path, text);
  visitNames(program, (name, at) => names.set(at, name));
  return [...names].map(([at, name]) => ({ name, at }));
}

function visitNames(node: unknown, found: (name: string, at: number) => void): void {
  if (Array.isArray(node)) {
    for (const element of node) visitNames(element, found);
    return;
  }
  if (typeof node !== "object" || node === null) return;
  const { type, name, start } = node as { type?: unknown; name?: unknown; start?: unknown };
  if (
    (type === "Identifier" || type === "PrivateIdentifier") &&
    typeof name === "string" &&
    typeof start === "number"
  )
    found(name, start);
  for (const member of Object.values(node)) visitNames(member, found);
}

/** `hasRoomFor` and `HAS_ROOM_FOR` have the parts has, room, for. */
function partsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[\s_$]+/);
}
