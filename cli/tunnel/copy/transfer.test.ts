/** Copies to and from a "container" that is another directory of this computer. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, describe, onTestFinished, test, vi } from "vitest";
import { errorMessage } from "../../../src/std/errors.ts";
import { Failure } from "../../../src/std/failure.ts";
import type { Shell } from "./container-shell.ts";
import type { Progress } from "./file-copy.ts";
import { partName } from "./place.ts";
import { transfer } from "./transfer.ts";

const OLD = 86_400;

let root: string;
/** On this computer. */
let here: string;
/** In the container. */
let there: string;
let path = process.env["PATH"] ?? "";

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "edgerun-copy-"));
  [here, there] = [join(root, "here"), join(root, "there")];
  await Promise.all([mkdir(here), mkdir(there)]);
  path = process.env["PATH"] ?? "";
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(root, { recursive: true, force: true });
});

const shell: Shell = {
  containerId: "pod1",
  async run(script, args, { input, output } = {}) {
    const running = execa("sh", ["-c", script, "sh", ...args], {
      env: { PATH: path },
      ...(input ? { stdin: input as AsyncIterable<unknown> } : { input: "" }),
      ...(output && { stdout: ["pipe"], buffer: { stdout: false } }),
      stripFinalNewline: false,
      reject: false,
    });
    if (output) for await (const bytes of running.stdout as AsyncIterable<Buffer>) output.write(bytes);
    const { failed, stdout, stderr, cause } = await running;
    if (failed) throw cause ?? new Failure(String(stderr));
    return { stdout: String(stdout ?? ""), stderr: String(stderr) };
  },
};

async function copy(direction: "up" | "down", local: string, remote: string): Promise<readonly string[]> {
  return await transfer(shell, { direction, containerId: "pod1", local, remote }, () => {});
}

async function names(directory: string): Promise<string[]> {
  return (await readdir(directory, { recursive: true })).toSorted();
}

describe("a destination that the source cannot replace", () => {
  test("is a directory with the name of a file", async ({ expect }) => {
    await writeFile(join(here, "a.txt"), "new");
    await mkdir(join(there, "a.txt"));
    await expect(copy("up", join(here, "a.txt"), there)).rejects.toThrow(Failure);
    expect(await names(there)).toEqual(["a.txt"]);
  });

  test("is one on the way back, too", async ({ expect }) => {
    await writeFile(join(there, "a.txt"), "new");
    await mkdir(join(here, "a.txt"));
    await expect(copy("down", here, join(there, "a.txt"))).rejects.toThrow(Failure);
    expect(await names(here)).toEqual(["a.txt"]);
  });

  test("is a file with the name of a directory", async ({ expect }) => {
    await Promise.all([mkdir(join(here, "d")), mkdir(join(there, "d"))]);
    await Promise.all([writeFile(join(here, "d/d"), "x"), writeFile(join(there, "d/d"), "x")]);
    await expect(copy("up", join(here, "d"), join(there, "d"))).rejects.toThrow(Failure);
    await expect(copy("down", join(here, "d"), join(there, "d"))).rejects.toThrow(Failure);
  });

  test("comes while the file is copied, and nothing of the file is left", async ({ expect }) => {
    await writeFile(join(here, "a.txt"), "new");
    await tool("chmod", `mkdir '${there}/a.txt'; exec /bin/chmod "$@"`);
    await expect(copy("up", join(here, "a.txt"), join(there, "a.txt"))).rejects.toThrow(Failure);
    expect(await names(there)).toEqual(["a.txt"]);
    await rm(join(there, "a.txt"), { recursive: true });
    await tool("mv", `mkdir '${there}/a.txt'; exec /bin/mv "$@"`);
    await expect(copy("up", join(here, "a.txt"), join(there, "a.txt"))).rejects.toThrow(Failure);
    expect(await names(there)).toEqual(["a.txt"]);
  });
});

/** A program of the container that does this instead. */
async function tool(name: string, script: string): Promise<void> {
  const directory = await mkdtemp(join(root, "bin-"));
  await writeFile(join(directory, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(directory, name), 0o755);
  path = `${directory}:${process.env["PATH"]}`;
}

describe("a part of a file that is old", () => {
  test("is as young as what was written to it, until it is the file", async ({ expect }) => {
    await writeFile(join(here, "old"), "x");
    await utimes(join(here, "old"), OLD, OLD);
    await tool("mv", `stat -c %Y "$2" >> '${root}/times'; exec /bin/mv "$@"`);
    const since = Math.floor(Date.now() / 1_000);
    await copy("up", join(here, "old"), there);
    expect(Number(await readFile(join(root, "times"), "utf8"))).toBeGreaterThanOrEqual(since);
    expect(fs.statSync(join(there, "old")).mtimeMs).toBe(OLD * 1_000);
  });

  test("is young from the first moment of the copy that goes on with it", async ({ expect }) => {
    const local = join(here, "old");
    await writeFile(local, Buffer.alloc(65_536));
    await utimes(local, OLD, OLD);
    const state = { size: 65_536, mtime: OLD, mode: 0o644 };
    const part = join(there, partName(`${local}\n${join(there, "old")}`, state));
    await writeFile(part, Buffer.alloc(65_536));
    await utimes(part, OLD, OLD);
    await tool("head", `stat -c %Y '${part}' >> '${root}/times'; exec /usr/bin/head "$@"`);
    const since = Math.floor(Date.now() / 1_000);
    const shown: Progress[] = [];
    const places = { direction: "up", containerId: "pod1", local, remote: there } as const;
    await transfer(shell, places, (progress) => void shown.push(progress));
    expect(Number(await readFile(join(root, "times"), "utf8"))).toBeGreaterThanOrEqual(since);
    expect(shown).toEqual([{ sentBytes: 0, thereBytes: 65_536, totalBytes: 65_536 }]);
  });
});

describe("a directory", () => {
  test("goes without its sockets and pipes, which are named", async ({ expect }) => {
    await writeFile(join(here, "file"), "x");
    execFileSync("mkfifo", [join(here, "pipe")]);
    const server = createServer().listen(join(here, "socket"));
    onTestFinished(() => void server.close());
    expect((await copy("up", here, join(there, "d"))).toSorted()).toEqual(["./pipe", "./socket"]);
    expect(await names(there)).toEqual(["d", "d/file"]);
  });

  test("of which a file cannot be read is a failure that names it", async ({ expect }) => {
    await Promise.all(["a", "b", "c"].map((name) => writeFile(join(here, name), "x")));
    const denied = (file: unknown) =>
      Object.assign(new Error(`EACCES: open '${String(file)}'`), { code: "EACCES" });
    vi.spyOn(fs, "open").mockImplementation(((file: unknown, ...rest: unknown[]) =>
      (rest.at(-1) as (error: Error) => void)(denied(file))) as never);
    const error: unknown = await copy("up", here, join(there, "d")).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Failure);
    expect(errorMessage(error)).toContain(join(here, "a"));
  });

  test.for(["..", "."])("%s gives its contents to a directory, as with cp", async (name, { expect }) => {
    await Promise.all([mkdir(join(here, "sub")), mkdir(join(there, "d"))]);
    await writeFile(join(here, "sub/file"), "x");
    const local = `${here}/sub/${name}`;
    const expected = name === ".." ? ["d", "d/sub", "d/sub/file"] : ["d", "d/file"];
    await copy("up", local, join(there, "d"));
    expect(await names(there)).toEqual(expected);
    await mkdir(join(root, "back"));
    await copy("down", join(root, "back"), `${there}/d/.`);
    expect(await names(join(root, "back"))).toEqual(expected.slice(1).map((one) => one.slice(2)));
  });
});
