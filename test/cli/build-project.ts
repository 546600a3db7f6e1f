/** A project in a directory of its own, and builds of it in this process. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { type BuildOptions, type BuildResult, buildApp } from "../../cli/build/build.ts";
import { Failure } from "../../src/std/failure.ts";
import { ConsoleTerminal } from "../../cli/terminal/console-terminal.ts";

export type Files = Readonly<Record<string, string>>;

/** The smallest app. */
export const HELLO = `from edgerun import Endpoint

@Endpoint(name="hello", cpu="cpu3c-1-2")
def hello(name: str):
    return f"hello {name}"
`;

export function projectOf(files: Files): string {
  const directory = temporaryDirectory();
  addFiles(directory, files);
  return directory;
}

/** Removed when the test ends. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "edgerun-build-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function addFiles(directory: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
}

export type Built = {
  readonly result: BuildResult | undefined;
  readonly failure: Failure | undefined;
  /** All that was shown. */
  readonly shown: string;
};

export type BuildSetting = Partial<BuildOptions> & {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
};

/** Builds, and keeps what was shown and how it ended. */
export async function build(directory: string, setting: BuildSetting = {}): Promise<Built> {
  const { environment = {}, signal = new AbortController().signal, ...options } = setting;
  const output = new PassThrough();
  const shown = text(output);
  const streams = { input: new PassThrough(), output, errors: output };
  const surroundings = { ...process.env, ...WITHOUT_UV, ...environment };
  const terminal = new ConsoleTerminal({
    streams,
    environment: surroundings,
    signal,
    redact: (line) => line,
    log: () => {},
  });
  const cli = { directory, environment: surroundings, terminal, signal };
  const ended = await buildApp(cli, "shop", { ...USUAL, ...options }).then(
    (result) => ({ result, failure: undefined }),
    (error: unknown) => {
      if (error instanceof Failure) return { result: undefined, failure: error };
      throw error;
    },
  );
  output.end();
  return { ...ended, shown: await shown };
}

/** A build that must succeed. */
export async function built(directory: string, setting?: BuildSetting) {
  const { result, failure, shown } = await build(directory, setting);
  if (!result) throw failure ?? new Error("no result");
  return { ...result, shown };
}

const USUAL: BuildOptions = {
  deps: true,
  exclude: [],
};

/** Paths in an archive, sorted. */
export function pathsIn(archive: string): string[] {
  return tar(["-tzf", archive]).split("\n").filter(Boolean).sort();
}

export function textIn(archive: string, path: string): string {
  return tar(["-xzOf", archive, path]);
}

export function tar(args: readonly string[]): string {
  return execFileSync("tar", args, { encoding: "utf8", maxBuffer: 1 << 28 });
}

// Tools

const WITHOUT_UV = { PATH: pathWithout("uv") };

function pathWithout(command: string): string {
  const directories = (process.env["PATH"] ?? "").split(delimiter);
  return directories.filter((directory) => !existsSync(join(directory, command))).join(delimiter);
}
