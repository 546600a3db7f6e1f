/** Discovery by real Python, with the package of this repository. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, watch } from "node:fs";
import { mkdir, mkdtemp, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "vitest";
import type { Cli } from "../../cli/core/cli.ts";
import { discover } from "../../cli/discovery/discovery.ts";
import { findInterpreter, sdkDirectory } from "../../cli/discovery/interpreter.ts";
import { ConsoleTerminal } from "../../cli/terminal/console-terminal.ts";

const WORKER = `from edgerun import Endpoint
print("printed by the app")
@Endpoint(name="hello", cpu="cpu3c-1-2")
def hello(name: str = "you"):
    """Says hello."""
`;

/** A program that says of itself to be an old Python. */
const OLD_PYTHON = `#!/bin/sh\necho '{"version": [3, 8, 18], "hasSdk": false}'\n`;

class Place {
  readonly cli: Cli;
  readonly #output = new PassThrough();
  readonly #interruption = new AbortController();

  private constructor(directory: string, environment: Cli["environment"]) {
    const surroundings = { ...withoutPython(process.env), ...environment };
    const streams = { input: new PassThrough(), output: this.#output, errors: this.#output };
    const { signal } = this.#interruption;
    const redact = (line: string): string => line;
    const terminal = new ConsoleTerminal({
      streams,
      environment: surroundings,
      signal,
      redact,
      log: () => {},
    });
    this.cli = { directory, environment: surroundings, terminal, signal };
  }

  static async with(files: Record<string, string>, environment: Cli["environment"] = {}): Promise<Place> {
    const directory = await realpath(await mkdtemp(join(tmpdir(), "edgerun-discovery-")));
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), content, { mode: 0o755 });
    }
    return new Place(directory, environment);
  }

  path(name: string): string {
    return join(this.cli.directory, name);
  }

  interrupt(): void {
    this.#interruption.abort();
  }

  async shown(): Promise<string> {
    this.#output.end();
    return await text(this.#output);
  }
}

function withoutPython(environment: Cli["environment"]): Cli["environment"] {
  const { PYTHONPATH: _, VIRTUAL_ENV: __, FLASH_PYTHON: ___, ...rest } = environment;
  return rest;
}

test("an app is found with the bundled package, with one message", async ({ expect }) => {
  const place = await Place.with({ "hello.py": WORKER });
  const report = await discover(place.cli, { files: ["hello.py"] });
  await discover(place.cli, { files: ["hello.py"] });
  expect(report.endpoints).toMatchObject([
    {
      name: "hello",
      line: 3,
      resource: { instanceIds: ["cpu3c-1-2"] },
      functions: [
        { name: "hello", description: "Says hello.", parameters: [{ name: "name", default: "you" }] },
      ],
    },
  ]);
  const shown = await place.shown();
  expect(shown.match(/does not have the package edgerun/g)).toHaveLength(1);
  expect(shown).not.toContain("printed by the app");
});

test("the package of the interpreter is used without a message", async ({ expect }) => {
  const place = await Place.with({ "hello.py": WORKER }, { PYTHONPATH: sdkDirectory() });
  expect((await discover(place.cli, { files: ["hello.py"] })).endpoints).toHaveLength(1);
  expect(await place.shown()).toBe("");
});

test("errors are one failure with a line for each, and warnings go to the terminal", async ({ expect }) => {
  const place = await Place.with({
    "a.py": WORKER,
    "b.py": WORKER,
    "c.py": `from edgerun import Endpoint\nidle = Endpoint(name="idle")\n@Endpoint(name="c", workers=-1)\ndef c(): ...\n`,
    "broken.py": "def broken(:\n",
  });
  await expect(discover(place.cli, { files: ["a.py", "b.py", "broken.py", "c.py"] })).rejects.toMatchObject({
    name: "Failure",
    message: expect.stringMatching(/\b2\b/),
    advice: [expect.stringMatching(/^c\.py:3: .*workers/), expect.stringMatching(/^b\.py:3: .*a\.py:3/)],
  });
  expect(await place.shown()).toContain("! broken.py:1: ");
});

test("an app without endpoints is shown how to declare one", async ({ expect }) => {
  const place = await Place.with({ "script.py": "print(1)" });
  await expect(discover(place.cli, { files: ["script.py"] })).rejects.toMatchObject({
    advice: expect.arrayContaining([
      expect.stringContaining("@Endpoint("),
      expect.stringContaining("@api.post("),
    ]),
  });
});

test("a project may have files named like modules of Python", async ({ expect }) => {
  const files = { "hello.py": WORKER, "json.py": "raise SystemExit(9)", "types.py": "raise SystemExit(9)" };
  const place = await Place.with({ ...files, "runpy.py": "raise SystemExit(9)" });
  const report = await discover(place.cli, { files: ["hello.py", "json.py", "runpy.py", "types.py"] });
  expect(report.endpoints.map(({ name }) => name)).toEqual(["hello"]);
});

test("an interruption ends all processes of discovery", async ({ expect }) => {
  const blocking = `import os, subprocess, time
subprocess.Popen(["sleep", "600"])
open("started", "w").write(str(os.getpgrp()))
os.rename("started", "group")
time.sleep(600)
`;
  const place = await Place.with({ "slow.py": `${WORKER}${blocking}` });
  const discovery = discover(place.cli, { files: ["slow.py"] });
  const ended = expect(discovery).rejects.toMatchObject({ name: "AbortError" });
  await appearanceOf(place.path("group"));
  const group = readFileSync(place.path("group"), "utf8");
  place.interrupt();
  await ended;
  expect(processesOf(group)).toEqual([]);
});

test("the interpreter is that of --python, FLASH_PYTHON, VIRTUAL_ENV, ./.venv, the PATH, in this order", async ({
  expect,
}) => {
  const python = `#!/bin/sh\nexec python3 "$@"\n`;
  const files = { "option/python": python, "flash/python": python, "venv/bin/python": python };
  const place = await Place.with({ ...files, ".venv/bin/python": python });
  const chosen = async (environment: Cli["environment"], option?: string): Promise<string> => {
    const cli = { ...place.cli, environment: { ...place.cli.environment, ...environment } };
    return (await findInterpreter(cli, option)).path;
  };
  const all = { FLASH_PYTHON: "./flash/python", VIRTUAL_ENV: place.path("venv") };
  expect(await chosen(all, "./option/python")).toBe(place.path("option/python"));
  expect(await chosen(all)).toBe(place.path("flash/python"));
  expect(await chosen({ VIRTUAL_ENV: place.path("venv") })).toBe(place.path("venv/bin/python"));
  expect(await chosen({})).toBe(place.path(".venv/bin/python"));
  expect((await findInterpreter((await Place.with({})).cli)).path).toBe("python3");
});

test("an interpreter that is too old fails with its origin", async ({ expect }) => {
  const place = await Place.with({ "old/python": OLD_PYTHON });
  await expect(findInterpreter(place.cli, "./old/python")).rejects.toMatchObject({
    message: expect.stringContaining("Python 3.8.18"),
    advice: [expect.stringContaining("--python"), expect.stringContaining("3.10")],
  });
});

test("a missing or broken interpreter fails with advice", async ({ expect }) => {
  const place = await Place.with({ "no/python": "#!/bin/sh\necho oh no >&2\nexit 3\n" });
  for (const [python, reason] of [
    ["./missing", /ENOENT/],
    ["./no/python", /oh no/],
  ] as const) {
    await expect(findInterpreter(place.cli, python)).rejects.toMatchObject({
      name: "Failure",
      message: expect.stringContaining("--python"),
      advice: [expect.stringMatching(reason), expect.stringContaining("FLASH_PYTHON")],
    });
  }
});

test("a package of another version fails with a message", async ({ expect }) => {
  const main = `import os; os.write(3, b'{"protocol": 99}')\n`;
  const place = await Place.with({
    "other/edgerun/__init__.py": "",
    "other/edgerun/discovery/__init__.py": "",
    "other/edgerun/discovery/__main__.py": main,
    "hello.py": WORKER,
  });
  const environment = { ...place.cli.environment, PYTHONPATH: place.path("other") };
  await expect(discover({ ...place.cli, environment }, { files: ["hello.py"] })).rejects.toMatchObject({
    name: "Failure",
    advice: expect.arrayContaining([expect.stringContaining("protocol")]),
  });
});

async function appearanceOf(path: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (existsSync(path)) resolve();
  };
  const watcher = watch(dirname(path), look);
  look();
  await promise.finally(() => watcher.close());
}

/** Those that run, not those that have ended and are not yet collected. */
function processesOf(group: string): string[] {
  const all = execFileSync("ps", ["-e", "-o", "pgid=,stat=,args="], { encoding: "utf8" });
  return all.split("\n").filter((line) => line.trim().startsWith(`${group} `) && !/^\s*\d+\s+Z/.test(line));
}
