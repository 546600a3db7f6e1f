/** The tests of the Python package, as tests here. */
import { resolve } from "node:path";
import { execa } from "execa";
import { ensurePytestVenv, type PythonVersion } from "./python-versions.ts";

/** They wait for some hundred processes, on a machine that is busy with other tests. */
export const PYTEST_LIMIT_MS = 400_000;

const PACKAGE = resolve(import.meta.dirname, "../../sdk/python");

/** Runs pytest with these arguments; answers its exit code and all that it has said. */
export async function runPytest(version: PythonVersion, interpreter: string, args: readonly string[]) {
  const python = await ensurePytestVenv(version, interpreter);
  const { exitCode, all } = await execa(python, ["-m", "pytest", ...args], {
    cwd: PACKAGE,
    all: true,
    reject: false,
  });
  return { exitCode, all };
}
