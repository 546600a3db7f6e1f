/** What tests of documents read in a Markdown file. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

export type Block = {
  readonly language: string;
  readonly text: string;
  readonly line: number;
  /** The tests that run it: what a comment `<!-- test: …, … -->` in front of the block lists. */
  readonly tests: readonly string[];
  /** Why no test runs it: what a comment `<!-- not run: … -->` in front of the block says. */
  readonly notRun: string | undefined;
};

export type MarkdownDocument = {
  readonly path: string;
  /** Everything but the blocks, with its line breaks. */
  readonly prose: string;
  readonly blocks: readonly Block[];
  readonly headings: readonly string[];
};

const FENCE = /^ *(```|~~~)/;
const SHELL = /^(?:sh|bash|zsh|shell|console|shell-?session|sh-session)$/;
const TEST_COMMENT = /^ *<!-- test: (.+) -->$/;
const NOT_RUN_COMMENT = /^ *<!-- not run: (.+) -->$/;

/** Every Markdown file of the repository that Git knows or would add. */
export function readDocuments(): readonly MarkdownDocument[] {
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"];
  const paths = execFileSync("git", list, { cwd: ROOT, encoding: "utf8" }).split("\0");
  const generated = /golden\.md$|\/__snapshots__\//;
  return [...new Set(paths)]
    .filter((path) => path !== "" && !generated.test(path))
    .map((path) => readDocument(path));
}

export function readDocument(path: string): MarkdownDocument {
  return parseDocument(path, readFileSync(join(ROOT, path), "utf8"));
}

/** The blocks of a document that a test of this name runs, in their order. */
export function blocksOfTest({ blocks }: MarkdownDocument, name: string): readonly Block[] {
  return blocks.filter(({ tests }) => tests.includes(name));
}

export function parseDocument(path: string, text: string): MarkdownDocument {
  const prose: string[] = [];
  const blocks: Block[] = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const fence = FENCE.exec(line)?.[1];
    if (fence === undefined) {
      prose.push(line);
      continue;
    }
    const end = lines.findIndex((other, index) => index > at && FENCE.exec(other)?.[1] === fence);
    const before = lines.slice(0, at).findLast((other) => other !== "") ?? "";
    blocks.push({
      language: line.replaceAll(/[ `~]/g, ""),
      text: lines.slice(at + 1, end).join("\n"),
      line: at + 1,
      tests: TEST_COMMENT.exec(before)?.[1]?.split(", ") ?? [],
      notRun: NOT_RUN_COMMENT.exec(before)?.[1],
    });
    at = end;
  }
  const headings = prose.filter((line) => /^#+ /.test(line)).map((line) => line.replace(/^#+ /, ""));
  return { path, prose: prose.join("\n"), blocks, headings };
}

/** Whether a reader would type what the block shows: it is one of a shell, or a transcript with prompts. */
export function hasCommands({ language, text }: Block): boolean {
  return SHELL.test(language) || (/^(?:text|txt|plain|)$/.test(language) && /^ *\$ \S/m.test(text));
}

/** The anchor that GitHub gives a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

/** The targets of links and images, without those of other sites. */
export function relativeLinks({ prose }: MarkdownDocument): readonly string[] {
  const inline = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? "");
  const referenced = [...prose.matchAll(/^\[[^\]]+\]: (\S+)$/gm)].map(([, target]) => target ?? "");
  return [...inline, ...referenced].filter((target) => !/^[a-z]+:/.test(target));
}

/** Code in backticks within the prose. */
export function inlineCode({ prose }: MarkdownDocument): readonly string[] {
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code ?? "");
}
