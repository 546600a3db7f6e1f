/** The lines of a requirements.txt, as pip reads them; requirements are not parsed here. */
import { split } from "shlex";
import { PACKAGE_REQUIREMENTS_PATH } from "../../src/contract/flash/packages.ts";

export type RequirementLine = {
  /** Number of its first physical line, from 1. */
  readonly line: number;
} & (
  | { readonly kind: "requirement"; readonly text: string; readonly hashes: readonly string[] }
  /** `-r` */
  | { readonly kind: "include"; readonly path: string }
  /** `-c` */
  | { readonly kind: "constraints"; readonly path: string }
  /** Where packages are searched. */
  | { readonly kind: "option"; readonly name: SourceOption; readonly value: string | undefined }
  | { readonly kind: "refused"; readonly text: string; readonly reason: string }
);

/** Options of a requirements file that are passed on, in their long form. */
export type SourceOption =
  | "--index-url"
  | "--extra-index-url"
  | "--find-links"
  | "--no-index"
  | "--trusted-host"
  | "--pre";

const OPTIONS: ReadonlyMap<string, SourceOption> = new Map<string, SourceOption>(
  Object.entries({
    "-i": "--index-url",
    "--index-url": "--index-url",
    "--pypi-url": "--index-url",
    "--extra-index-url": "--extra-index-url",
    "-f": "--find-links",
    "--find-links": "--find-links",
    "--no-index": "--no-index",
    "--trusted-host": "--trusted-host",
    "--pre": "--pre",
  }),
);
const FILES: ReadonlyMap<string, "include" | "constraints"> = new Map<string, "include" | "constraints">(
  Object.entries({
    "-r": "include",
    "--requirement": "include",
    "-c": "constraints",
    "--constraint": "constraints",
  }),
);
const SWITCHES: ReadonlySet<SourceOption> = new Set(["--no-index", "--pre"]);
/** Always in effect: only wheels are installed, and hashes are checked. */
const ALWAYS_IMPLIED = new Set(["--prefer-binary", "--only-binary", "--require-hashes", "--use-feature"]);

/** The URL of an edge; `flash init` writes a line with it. */
const EDGE = /^https?:\/\/[^/?#]+$/;

function isPackageListUrl(url: string): boolean {
  return (
    url.endsWith(PACKAGE_REQUIREMENTS_PATH) && EDGE.test(url.slice(0, -PACKAGE_REQUIREMENTS_PATH.length))
  );
}

const EDITABLE =
  "an editable install links to a directory on this computer, which workers do not have. Your own code inside the project is shipped without being listed; for other code list the published package";
const LOCAL =
  "it is a path on this computer, and wheels for Linux x86_64 are needed. Move the code into the project, which is shipped as it is, or list a published package";

/** `${NAME}` in it is taken from the environment, as pip does. */
export function requirementLines(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): RequirementLine[] {
  return joinedLines(file).flatMap(({ line, text: joined }) => {
    const content = withoutComment(joined).trim();
    if (content === "") return [];
    const expanded = content.replace(
      /\$\{([A-Z0-9_]+)\}/g,
      (whole, name: string) => environment[name] ?? whole,
    );
    return readLine(expanded).map((read) => ({ line, ...read }));
  });
}

function withoutComment(content: string): string {
  const at = content.search(/(?:^|\s)#/);
  return at < 0 ? content : content.slice(0, at);
}

/** Why a requirement is rejected before it is parsed; undefined if it is not. */
export function localPathReason(requirement: string): string | undefined {
  const isPath = /^(\.{1,2}([/\\[]|$)|[/\\~]|[A-Za-z]:[/\\]|file:)/.test(requirement);
  const isInside = /^[^@;]*[/\\]/.test(requirement) && !/^[A-Za-z+]+:\/\//.test(requirement);
  const isArchive = !requirement.includes("@") && ARCHIVE.test(withoutMarker(requirement));
  if (/^([A-Za-z+]+):\/\//.test(requirement) && !requirement.startsWith("file:")) {
    return "a URL needs a name before it: write <name> @ <URL>";
  }
  return isPath || isInside || isArchive || /@\s*file:/.test(requirement) ? LOCAL : undefined;
}

const ARCHIVE = /\.(whl|tar\.gz|zip)$/;

function withoutMarker(requirement: string): string {
  return requirement.split(";", 1)[0]?.trimEnd() ?? "";
}

type Read = RequirementLine extends infer Line ? (Line extends unknown ? Omit<Line, "line"> : never) : never;

function readLine(content: string): Read[] {
  if (content.startsWith("-")) return readOptions(content);
  const optionsAt = content.search(/\s--?[a-z]/);
  const requirement = optionsAt < 0 ? content : content.slice(0, optionsAt).trimEnd();
  const options = optionsAt < 0 ? "" : content.slice(optionsAt).trimStart();
  const reason = localPathReason(requirement);
  if (reason !== undefined) return [{ kind: "refused", text: requirement, reason }];
  const args = optionArguments(options);
  const hashes = valuesOf(args, "--hash");
  if (hashes === undefined) {
    return [{ kind: "refused", text: content, reason: `${args[0]} is not supported for a package` }];
  }
  return [{ kind: "requirement", text: requirement, hashes }];
}

function readOptions(content: string): Read[] {
  const [name = "", ...values] = optionArguments(content);
  const refused = (reason: string): Read[] => [{ kind: "refused", text: content, reason }];
  if (name === "-e" || name === "--editable") return refused(EDITABLE);
  if (ALWAYS_IMPLIED.has(name)) return [];
  const option = OPTIONS.get(name);
  if (option !== undefined && SWITCHES.has(option)) {
    return [{ kind: "option", name: option, value: undefined }];
  }
  if (option === undefined && FILES.get(name) === undefined)
    return refused(`the option ${name} is not supported`);
  const [value, ...more] = values;
  if (value === undefined || more.length > 0) return refused(`${name} takes one value`);
  return option === undefined
    ? readFileName(content, name, value)
    : [{ kind: "option", name: option, value }];
}

function readFileName(content: string, name: string, path: string): Read[] {
  const kind = FILES.get(name);
  if (kind === undefined) return [];
  // It lists only the Python package, which every artifact has.
  if (kind === "include" && isPackageListUrl(path)) return [];
  const reason = "requirement files are not fetched from a URL";
  return /^[a-z+]+:\/\//i.test(path) ? [{ kind: "refused", text: content, reason }] : [{ kind, path }];
}

/** `--name=value` and `-rvalue` become two arguments each. */
function optionArguments(text: string): string[] {
  return splitArguments(text).flatMap((argument) => {
    const long = /^(--[a-z-]+)=(.*)$/s.exec(argument);
    const short = /^(-[a-z])([^-].*)$/s.exec(argument);
    const match = long ?? short;
    return match ? [match[1] ?? "", match[2] ?? ""] : [argument];
  });
}

function splitArguments(text: string): string[] {
  try {
    return split(text);
  } catch {
    // An unclosed quote.
    return text.split(/\s+/).filter(Boolean);
  }
}

/** Values of a repeated option; undefined when there is another option among them. */
function valuesOf(args: readonly string[], option: string): string[] | undefined {
  const values: string[] = [];
  for (let at = 0; at < args.length; at += 2) {
    const value = args[at + 1];
    if (args[at] !== option || value === undefined) return undefined;
    values.push(value);
  }
  return values;
}

/** Joins lines that end with a backslash; a comment is not continued. */
function joinedLines(text: string): { line: number; text: string }[] {
  const joined: { line: number; text: string }[] = [];
  let open: { line: number; text: string } | undefined;
  for (const [at, physical] of text
    .replace(/^\uFEFF/, "")
    .split(/\r\n|\r|\n/)
    .entries()) {
    const isComment = /^\s*#/.test(physical);
    const continues = physical.endsWith("\\") && !isComment;
    const segment = continues ? physical.slice(0, -1) : isComment ? ` ${physical}` : physical;
    open = open ? { line: open.line, text: open.text + segment } : { line: at + 1, text: segment };
    if (continues) continue;
    joined.push(open);
    open = undefined;
  }
  if (open) joined.push(open);
  return joined;
}
