/** Documents say what is true of this repository: links, paths, commands, queries, samples and names. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, normalize, resolve } from "node:path";
import type { Command } from "commander";
import { buildSchema, type GraphQLSchema, Kind, parse, validate } from "graphql";
import { describe, onTestFinished, test } from "vitest";
import type { Cli } from "../../cli/core/cli.ts";
import { flashProgram } from "../../cli/program.ts";
import { QUEUE_REASONS } from "../../src/contract/job.ts";
import {
  anchorOf,
  type Block,
  inlineCode,
  type MarkdownDocument,
  hasCommands,
  parseDocument,
  readDocument,
  readDocuments,
  relativeLinks,
} from "../support/markdown.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const documents = readDocuments();
/** Decisions describe the code of their day, and the changelog that of each version. */
const current = documents.filter(({ path }) => !/^docs\/decisions\/0|^CHANGELOG/.test(path));

const exists = (path: string): boolean => existsSync(join(ROOT, path));
const place = ({ path }: MarkdownDocument, { line }: Block): string => `${path}:${line}`;

function blocksOf(languages: RegExp, among = documents): readonly (readonly [MarkdownDocument, Block])[] {
  return among.flatMap((document) =>
    document.blocks
      .filter(({ language }) => languages.test(language))
      .map((block) => [document, block] as const),
  );
}

describe("links", () => {
  test("every relative link leads to a file, and its anchor to a heading", ({ expect }) => {
    const broken = documents.flatMap((document) =>
      relativeLinks(document)
        .filter((link) => !resolves(document.path, link))
        .map((link) => `${document.path}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test("no document has a conflict of a merge in it", ({ expect }) => {
    const marker = /^(?:<{7}|>{7}|(?:> ){7})/m;
    expect(documents.filter(({ prose }) => marker.test(prose)).map(({ path }) => path)).toEqual([]);
  });

  test("every page of docs/ is in an index", ({ expect }) => {
    const indexed = ["docs/README.md", "docs/decisions/README.md"].flatMap((path) =>
      relativeLinks(readDocument(path)).map((link) => normalize(join(dirname(path), link))),
    );
    const pages = globSync("docs/**/*.md", { cwd: ROOT }).filter((path) => !path.endsWith("README.md"));
    expect(pages.filter((path) => !indexed.includes(path))).toEqual([]);
  });
});

function resolves(from: string, link: string): boolean {
  const [file = "", anchor] = link.split("#");
  const target = file === "" ? from : normalize(join(dirname(from), file));
  if (!exists(target)) return false;
  if (anchor === undefined || statSync(join(ROOT, target)).isDirectory()) return true;
  return readDocument(target).headings.some((heading) => anchorOf(heading) === anchor);
}

describe("names", () => {
  const FOLDERS =
    /^(?:src|node-agent|cli|standalone|scripts|console|test|bench|examples|sdk|drizzle|docker)\//;

  test("every path that a document names exists", ({ expect }) => {
    const missing = current.flatMap((document) =>
      inlineCode(document)
        .filter((code) => FOLDERS.test(code) && !/[<>…\s]/.test(code))
        .filter((code) => globSync(code.replace(/\/$/, ""), { cwd: ROOT }).length === 0)
        .map((code) => `${document.path}: ${code}`),
    );
    expect(missing).toEqual([]);
  });

  /** Matches where a function, a method, a class, a type or a constant of this name is declared. */
  function declarationOf(name: string): RegExp {
    const keywords = "(?:export |async |readonly |static |get |function\\*? |const |class |type |def )*";
    return new RegExp(`^ *${keywords}${name}(?:<.*>)?(?:\\??: | =(?: |$)| \\{|\\((?!.*;$))`, "m");
  }

  test("every name in the life of a job is declared in the file of its row, and the files are counted", ({
    expect,
  }) => {
    const { prose } = readDocument("docs/explanation/life-of-a-job.md");
    const rows = [...prose.matchAll(/^\|([^|]*)\| *`([^`]+\.(?:ts|py))` *\|([^|]*)\|/gm)];
    const missing = rows.flatMap(([, , path = "", names = ""]) => {
      const source = exists(path) ? readFileSync(join(ROOT, path), "utf8") : "";
      return [...names.matchAll(/`([^`]+)`/g)]
        .map(([, name = ""]) => name)
        .filter((name) => !declarationOf(name).test(source))
        .map((name) => `${path}: ${name}`);
    });
    expect(missing).toEqual([]);
    const steps = rows.filter(([, step = ""]) => /^ *\d+ *$/.test(step));
    const [, count] = /passes \*\*(\d+) files\*\*/.exec(prose) ?? [];
    expect(new Set(steps.map(([, , path]) => path)).size).toBe(Number(count));
  });

  test("the guide to troubleshooting has every reason why a job waits, and quotes messages of the code", ({
    expect,
  }) => {
    const { prose } = readDocument("docs/how-to/troubleshooting.md");
    expect(QUEUE_REASONS.filter((reason) => !prose.includes(`\n| \`${reason}\` `))).toEqual([]);
    const paths = globSync("{test/repository/messages.golden.md,{scripts/start,standalone}/*.ts}", {
      cwd: ROOT,
    });
    const sources = paths.map((path) => readFileSync(join(ROOT, path), "utf8")).join("\n");
    const messages = sources.replaceAll(/\$\{[^{}]*\}|\{…\}/g, "…");
    const quotes = [...prose.matchAll(/^\| "([^"]+)"/gm)].map(([, quote = ""]) => quote);
    expect(quotes.length).toBeGreaterThan(20);
    const unknown = quotes.filter((quote) => !messages.includes(quote.replaceAll(/^… | …$/g, "")));
    expect(unknown).toEqual([]);
  });

  /** Variables of clients, and references to secrets. */
  const FOREIGN =
    /^(?:RUNPOD_(?:API|CONSOLE|GRAPHQL|HAPI|REST|REST_API|REST_V2_API|SERVERLESS_API)_URL|SECRET_\w+)$/;

  test("every variable and error code that a document names is in the code", ({ expect }) => {
    const list = ["ls-files", "-z", "*.ts", "*.mjs", "*.py", "*.toml", "*.sh"];
    const paths = execFileSync("git", list, { cwd: ROOT, encoding: "utf8" }).split("\0");
    const sources = paths.filter(
      (path) => path !== "" && exists(path) && !path.endsWith("documents.test.ts"),
    );
    const code = sources
      .map((path) => readFileSync(join(ROOT, path), "utf8"))
      .join("\n")
      .toLowerCase();
    const names = new Set(code.match(/\w+/g));
    const unknown = current.flatMap((document) =>
      inlineCode(document)
        .flatMap((inline) => inline.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g) ?? [])
        .filter((name) => !FOREIGN.test(name) && !names.has(name.toLowerCase()))
        .map((name) => `${document.path}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });

  test("titles of decisions are those of the index, and name the numbers of their files", ({ expect }) => {
    const index = readDocument("docs/decisions/README.md").prose;
    const titles = globSync("docs/decisions/0*.md", { cwd: ROOT }).map((path) => {
      const [title = ""] = readDocument(path).headings;
      expect(title, path).toMatch(new RegExp(`^${Number(basename(path).slice(0, 4))}\\. `));
      return title;
    });
    expect(titles.filter((title) => !index.includes(`- [${title}](`))).toEqual([]);
  });
});

describe("commands", () => {
  /** The test that runs blocks with this mark. */
  const RUNNERS = new Map([
    ["run", "test/e2e/document-commands.test.ts"],
    ["flash", "test/e2e/document-commands.test.ts"],
    ["images", "test/e2e/document-commands.test.ts"],
    ["backup", "test/e2e/start.test.ts"],
    ["dev", "test/cli/local-edge.test.ts"],
    ["openai", "test/e2e/model-workers.test.ts"],
  ]);
  /** It becomes the README of a new app, without marks; local-edge.test.ts and flash.test.ts run its calls. */
  const SKELETON = "cli/configuration/skeleton/README.md";

  test("every block of commands is run by a test, or says why not", ({ expect }) => {
    const unmarked = blocksOf(/./)
      .filter(([{ path }, block]) => path !== SKELETON && hasCommands(block))
      .filter(([, { tests, notRun }]) => tests.length === 0 && !notRun)
      .map(([document, block]) => place(document, block));
    expect(unmarked).toEqual([]);
  });

  test.for([
    ["```sh", "ls", true],
    ["~~~sh", "ls", true],
    ["```shell-session", "$ ls", true],
    ["```text", "$ ls\nfile", true],
    ["```text", "file", false],
    ["```json", "$ ls", false],
  ] as const)("a block %s of %j has commands: %s", ([fence, text, isExpected], { expect }) => {
    const { blocks } = parseDocument("page.md", `${fence}\n${text}\n${fence.slice(0, 3)}\n`);
    expect(blocks).toMatchObject([{ text }]);
    expect(blocks.map(hasCommands)).toEqual([isExpected]);
  });

  test("every block has a language, and every mark stands for a test that runs it", ({ expect }) => {
    expect(blocksOf(/^$/).map(([document, block]) => place(document, block))).toEqual([]);
    const marks = new Set(documents.flatMap(({ blocks }) => blocks.flatMap(({ tests }) => tests)));
    expect(marks).toEqual(new Set(RUNNERS.keys()));
    for (const [mark, path] of RUNNERS) expect(readFileSync(join(ROOT, path), "utf8")).toContain(`"${mark}"`);
  });

  test("every file that stands for a block which is not run exists", ({ expect }) => {
    const reasons = documents.flatMap(({ blocks }) => blocks.map(({ notRun }) => notRun ?? ""));
    const paths = reasons.flatMap((reason) => reason.match(/\b[\w-]+(?:\/[\w.-]+)+/g) ?? []);
    expect(paths.length).toBeGreaterThan(20);
    expect(paths.filter((path) => !exists(path))).toEqual([]);
  });

  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    scripts: Readonly<Record<string, string>>;
  };

  function* commandLines(): Generator<readonly [string, string]> {
    for (const document of current) {
      for (const code of inlineCode(document)) yield [document.path, code];
      for (const { language, text } of document.blocks) {
        if (/^(?:sh|bash|)$/.test(language)) for (const line of text.split("\n")) yield [document.path, line];
      }
    }
  }

  test("every npm script that a document names exists", ({ expect }) => {
    const unknown = [...commandLines()].flatMap(([path, line]) =>
      [...line.matchAll(/\bnpm run ([\w:-]+)/g)]
        .filter(([, name = ""]) => scripts[name] === undefined)
        .map(([command]) => `${path}: ${command}`),
    );
    expect(unknown).toEqual([]);
  });

  test("every command of flash and its options exist", ({ expect }) => {
    const program = flashProgram({
      name: "edgerun",
      cli: {} as Cli,
      configure: () => {},
      writeOutput: () => {},
      writeErrors: () => {},
    });
    const unknown = [...commandLines()].flatMap(([path, line]) =>
      [...line.matchAll(/(?:^|&& |; |\$\()(?:npm run )?flash (?:-- )?([a-z][^|;&#)]*)/g)]
        .flatMap(([, rest = ""]) => issuesOf(program, rest.trim().split(/\s+/)))
        .map((issue) => `${path}: ${issue}`),
    );
    expect(unknown).toEqual([]);
  });

  function issuesOf(program: Command, args: readonly string[]): readonly string[] {
    let command = program;
    const issues: string[] = [];
    for (const arg of args) {
      const child = command.commands.find((candidate) => candidate.name() === arg);
      if (child) command = child;
      else if (command === program) return [`flash ${arg}`];
      else if (arg.startsWith("-") && !hasOption(command, program, arg))
        issues.push(`flash ${command.name()} ${arg}`);
    }
    return issues;
  }

  function hasOption(command: Command, program: Command, arg: string): boolean {
    const [name] = arg.split("=");
    return [...command.options, ...program.options].some(
      ({ long, short }) => long === name || short === name,
    );
  }
});

/** Vitest and the schema's library load different copies of graphql, so the schema crosses as text. */
function readSchema(): GraphQLSchema {
  const program = `import { printSchema } from "graphql";
    import { managementSchema } from "./src/graphql/schema.ts";
    process.stdout.write(printSchema(managementSchema));`;
  const options = { cwd: ROOT, encoding: "utf8", maxBuffer: 16 * 1024 * 1024 } as const;
  return buildSchema(execFileSync(process.execPath, ["--input-type=module", "--eval", program], options));
}

/** Samples leave out types; what they call must exist and take these arguments. */
const SAMPLE_OPTIONS = {
  ...{ allowJs: true, checkJs: true, noEmit: true, strict: true, noImplicitAny: false, skipLibCheck: true },
  ...{ module: "nodenext", target: "esnext", types: ["node"] },
};

/** Blocks that import nothing but our package declare endpoints, whose parameters it validates. */
const RUN_PYTHON_SAMPLES = `
import ast, json, sys
for where, text in json.load(sys.stdin):
    code = compile(text, where, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    imports = [node for node in ast.parse(text).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    if all(getattr(node, "module", None) == "edgerun" for node in imports) and "\\njob = await" not in text:
        exec(code, {"__name__": where})
`;

describe("samples", () => {
  test("every GraphQL document is valid", ({ expect }) => {
    const blocks = blocksOf(/^graphql$/).map(
      ([document, block]) => [place(document, block), block.text] as const,
    );
    const inCalls = blocksOf(/^sh$/).flatMap(([document, block]) =>
      [...block.text.matchAll(/'(\{"query": ?"(?:[^'\\]|\\.|'\$\w+')*"\})'/g)].map(
        ([, body = ""]) =>
          [
            place(document, block),
            (JSON.parse(body.replaceAll(/'\$\w+'/g, "x")) as { query: string }).query,
          ] as const,
      ),
    );
    const queries = [...blocks, ...inCalls].filter(
      ([, text]) => text.includes("{") && !text.startsWith("env:"),
    );
    expect(queries.length).toBeGreaterThan(10);
    const schema = readSchema();
    for (const [where, text] of queries) {
      // A block may show several anonymous operations, one after the other.
      for (const operation of parse(text, { noLocation: true }).definitions) {
        const issues = validate(schema, { kind: Kind.DOCUMENT, definitions: [operation] });
        expect(
          issues.map(({ message }) => message),
          where,
        ).toEqual([]);
      }
    }
  });

  test("every JSON block is JSON", ({ expect }) => {
    for (const [document, block] of blocksOf(/^json$/)) {
      expect(() => JSON.parse(block.text), place(document, block)).not.toThrow();
    }
  });

  test("every JavaScript and TypeScript block has correct types", ({ expect }) => {
    const folder = mkdtempSync(join(tmpdir(), "edgerun-samples-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    // Another test compares those that import files of the repository.
    const samples = blocksOf(/^(?:js|ts)$/).filter(([, { text }]) => !/from "\.\.?\//.test(text));
    for (const [document, block] of samples) {
      const name = place(document, block).replaceAll(/[/:]/g, "-");
      writeFileSync(join(folder, `${name}.m${block.language}`), block.text);
    }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: SAMPLE_OPTIONS }));
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    const { stdout, status } = spawnSync(process.execPath, [compiler, "-p", folder], { encoding: "utf8" });
    expect(stdout).toBe("");
    expect(status).toBe(0);
  });

  test("every Python block compiles, and those that declare endpoints run", ({ expect }) => {
    const blocks = blocksOf(/^python$/).map(([document, block]) => [place(document, block), block.text]);
    const { stderr, status } = spawnSync("python3", ["-c", RUN_PYTHON_SAMPLES], {
      input: JSON.stringify(blocks),
      env: { ...process.env, PYTHONPATH: join(ROOT, "sdk/python/src") },
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });

  test("the sample test of CONTRIBUTING is a file that runs", ({ expect }) => {
    const { blocks } = readDocument("CONTRIBUTING.md");
    const file = readFileSync(join(ROOT, "test/workers/example.test.ts"), "utf8").trimEnd();
    expect(blocks.map(({ text }) => text)).toContain(file);
  });
});
