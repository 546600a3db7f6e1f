/**
 * Finds retired words. `docs/glossary.md` names them in the last column of its tables, where words in parentheses are
 * advice for sentences alone; then come phrases that stand nowhere, and names that keep an older word, each with its
 * reason. A name is an identifier, a code such as `worker_lost`, or what a file or folder is called.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";

const GLOSSARY_PATH = "docs/glossary.md";
const GLOSSARY = fileURLToPath(new URL(`../../${GLOSSARY_PATH}`, import.meta.url));
const CODE = /\.(ts|mts|mjs|js|py)$/;
const READ = /\.(ts|mts|mjs|js|py|md|sh|toml|yml|yaml|html|css)$/;
/** The list itself, files of third parties, and history. */
const EXEMPT =
  /^docs\/glossary\.md$|^CHANGELOG\.md$|^drizzle\/|^test\/clients\/|^(scripts\/check|test\/repository)\/glossary/;
/** Codes, log events and metrics are names as well. */
const CODE_STRING = /^[a-z]+(?:_[a-z0-9]+)+$/;

export type RetiredTerm = { readonly path: string; readonly line: number; readonly word: string };

type Name = { readonly name: string; readonly at: number };

type Glossary = {
  /** In lower case, with single spaces. */
  readonly phrases: readonly string[];
  /**
   * By their forms: `hands` and `handed` for `hand`. Words of a longer term have spaces between; one that is retired as
   * the first word of a longer name ends with a hyphen.
   */
  readonly retired: ReadonlyMap<string, string>;
  /** Names that may contain a word; `*` stands for any characters. */
  readonly allowed: readonly { readonly word: string; readonly name: string }[];
};

/** Retired words in names and texts, and exceptions that no name needs any more. */
export function findRetiredTerms(root: string): readonly RetiredTerm[] {
  const text = readFileSync(GLOSSARY, "utf8");
  const glossary = readGlossary(text);
  const used = new Set<string>();
  const found = trackedFiles(root).flatMap((path) => {
    const content = readFileSync(join(root, path), "utf8");
    const names = [{ name: path, at: 0 }, ...(CODE.test(path) ? namesOf(path, content) : [])];
    return [...inText(path, content, glossary), ...inNames({ path, content, names }, glossary, used)];
  });
  const unused = glossary.allowed.filter(({ name }) => !used.has(name));
  const isOwn = resolve(root) === resolve(GLOSSARY, "../..");
  return [...found, ...(isOwn ? unused.map(({ name }) => unusedException(text, name)) : [])];
}

function unusedException(glossary: string, name: string): RetiredTerm {
  const line = glossary.slice(0, glossary.lastIndexOf(`\`${name}\``)).split("\n").length;
  return { path: GLOSSARY_PATH, line, word: `${name} is no name any more` };
}

function trackedFiles(root: string): readonly string[] {
  const options = { cwd: root, encoding: "utf8", maxBuffer: 16 * 1024 * 1024 } as const;
  return execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], options)
    .split("\n")
    .filter((path) => READ.test(path) && !EXEMPT.test(path) && existsSync(join(root, path)));
}

// The list

function readGlossary(text: string): Glossary {
  const [terms = "", rest = ""] = text.split("## Checked words\n");
  const [phrases = "", exceptions = ""] = rest.split("### Names that stay\n");
  const words = rowsOf(terms).flatMap((cells) => termsOf(cells.at(-1) ?? ""));
  return {
    phrases: quoted(phrases),
    retired: new Map(words.flatMap((word) => formsOf(word).map((form) => [form, word]))),
    allowed: rowsOf(exceptions).flatMap(([word = "", names = ""]) =>
      quoted(names).map((name) => ({ word, name })),
    ),
  };
}

/** The cells of all tables, without their headings. */
function rowsOf(markdown: string): readonly (readonly string[])[] {
  const lines = markdown.split("\n");
  return lines.flatMap((line, index) => {
    const isRow = line.startsWith("| ") && !lines[index + 1]?.startsWith("| -");
    return isRow && !line.startsWith("| -")
      ? [
          line
            .split("|")
            .slice(1, -1)
            .map((cell) => cell.trim()),
        ]
      : [];
  });
}

function termsOf(cell: string): readonly string[] {
  const checked = cell.replaceAll(/\([^()]*\)/g, "");
  return checked
    .split(",")
    .map((term) => term.trim())
    .filter((term) => term !== "");
}

function quoted(markdown: string): readonly string[] {
  return [...markdown.matchAll(/`([^`\n]+)`/g)].map(([, word = ""]) => word);
}

function formsOf(term: string): readonly string[] {
  if (term.includes(" ") || term.endsWith("-")) return [term, `${term}s`];
  const stem = term.replace(/[ey]$/, "");
  const endings = term.endsWith("y") ? ["ies", "ied"] : ["ed", "es"];
  return [term, `${term}s`, `${term}ing`, `${stem}ing`, ...endings.map((ending) => stem + ending)];
}

/** Whether a name has the form of another, in which `*` stands for any characters. */
function isLike(name: string, form: string): boolean {
  const [first = "", ...rest] = form.split("*");
  const last = rest.pop();
  if (last === undefined) return name === form;
  let at = first.length;
  if (!name.startsWith(first)) return false;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

// What is checked

function inText(path: string, text: string, { phrases }: Glossary): readonly RetiredTerm[] {
  return text.split("\n").flatMap((content, index) => {
    const spaced = ` ${(content.toLowerCase().match(/[\p{L}\p{N}_']+/gu) ?? []).join(" ")} `;
    const found = phrases.filter((phrase) => spaced.includes(` ${phrase} `));
    return found.map((word) => ({ path, line: index + 1, word }));
  });
}

type Named = { readonly path: string; readonly content: string; readonly names: readonly Name[] };

function inNames(
  { path, content, names }: Named,
  glossary: Glossary,
  used: Set<string>,
): readonly RetiredTerm[] {
  return names.flatMap(({ name: whole, at }) =>
    whole.split("/").flatMap((name) => {
      const words = retiredIn(name, glossary).filter((word) => !isAllowed(name, word, glossary, used));
      if (words.length === 0) return [];
      return [{ path, line: content.slice(0, at).split("\n").length, word: `${name} (${words.join(", ")})` }];
    }),
  );
}

function retiredIn(name: string, { retired }: Glossary): readonly string[] {
  const parts = partsOf(name);
  const terms = parts.flatMap((part, index) =>
    [1, 2, 3].map((count) => [part, ...parts.slice(index + 1, index + count)].join(" ")),
  );
  const prefix = parts.length > 1 ? `${parts[0]}-` : "";
  return [...new Set([...terms, prefix].flatMap((term) => retired.get(term) ?? []))];
}

function isAllowed(name: string, word: string, { allowed }: Glossary, used: Set<string>): boolean {
  const exceptions = allowed.filter((exception) => exception.word === word && isLike(name, exception.name));
  for (const exception of exceptions) used.add(exception.name);
  return exceptions.length > 0;
}

/** `hasRoomFor`, `HAS_ROOM_FOR` and `has-room.for` have the parts has, room, for. */
function partsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[\s_$#.-]+/);
}

// Names in code, without those in comments

function namesOf(path: string, text: string): readonly Name[] {
  if (path.endsWith(".py")) return pythonNames(text);
  const names = new Map<number, string>();
  visitNames(parseSync(path, text).program, (name, at) => names.set(at, name));
  return [...names].map(([at, name]) => ({ name, at }));
}

/** Comments, strings, keywords, names of tests, which are sentences, and other names, which are the only group. */
const PYTHON_TOKENS = /#.*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|\btry\b|\btest_\w+|([A-Za-z_]\w*)/g;

function pythonNames(text: string): readonly Name[] {
  const code = text.split('"""').map((part, index) => (index % 2 === 0 ? part : " ".repeat(part.length)));
  return [...code.join("   ").matchAll(PYTHON_TOKENS)].flatMap(({ 1: name, index }) =>
    name === undefined ? [] : [{ name, at: index }],
  );
}

function visitNames(node: unknown, found: (name: string, at: number) => void): void {
  if (typeof node !== "object" || node === null) return;
  if (!Array.isArray(node)) {
    const name = nameOf(node);
    if (name !== undefined) found(name, (node as { readonly start: number }).start);
  }
  for (const member of Object.values(node)) visitNames(member, found);
}

function nameOf(node: object): string | undefined {
  const { type, name, value } = node as Readonly<Record<string, unknown>>;
  if (type === "Identifier" || type === "PrivateIdentifier") return name as string;
  return type === "Literal" && typeof value === "string" && CODE_STRING.test(value) ? value : undefined;
}
