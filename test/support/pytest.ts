/** The tests of the Python package, as tests here. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { ensurePytestVenv, type PythonVersion } from "./python-versions.ts";

/** They wait for some hundred processes, on a machine that is busy with other tests. */
export const PYTEST_LIMIT_MS = 900_000;

const PACKAGE = resolve(import.meta.dirname, "../../sdk/python");

/** Runs pytest with these arguments; answers its exit code and all that it has said. */
export async function runPytest(version: PythonVersion, interpreter: string, args: readonly string[]) {
  const python = await ensurePytestVenv(version, interpreter);
  // Two runs at once must not clean up one and the same directory.
  const temporary = await mkdtemp(join(tmpdir(), "edgerun-pytest-"));
  try {
    const env = { PYTEST_DEBUG_TEMPROOT: temporary };
    const options = { cwd: PACKAGE, all: true, reject: false, env } as const;
    const { exitCode, all } = await execa(python, ["-m", "pytest", ...args], options);
    return { exitCode, all };
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
