import { cpus } from "node:os";
import { resolve } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, test } from "vitest";
import { ensurePytestVenv, findPython, PYTHON_VERSIONS } from "../support/python-versions.ts";

const PACKAGE = resolve(import.meta.dirname, "../../sdk/python");

const found = await Promise.all(
  PYTHON_VERSIONS.map(async (version) => ({ version, interpreter: await findPython(version) })),
);
const missing = found.filter(({ interpreter }) => interpreter === undefined).map(({ version }) => version);
if (missing.length > 0) {
  process.stderr.write(
    `\n!!!!!! PYTHON TESTS SKIPPED FOR ${missing.join(", ")}: not on this machine !!!!!!\n\n`,
  );
}

beforeAll(async () => {
  for (const { version, interpreter } of found) if (interpreter) await ensurePytestVenv(version, interpreter);
}, 300_000);

describe("the Python package", () => {
  test("has a Python to be tried on", ({ expect }) => {
    expect(missing.length).toBeLessThan(PYTHON_VERSIONS.length);
  });

  describe.concurrent(`on ${cpus().length} cores`, () => {
    for (const { version, interpreter } of found) {
      test.skipIf(interpreter === undefined)(
        `keeps its promises on Python ${version}`,
        async ({ expect }) => {
          const python = await ensurePytestVenv(version, interpreter ?? "");
          // Bytecode would be written by several versions at once.
          const environment = { PYTHONDONTWRITEBYTECODE: "1" };
          const run = await execa(python, ["-m", "pytest"], {
            cwd: PACKAGE,
            env: environment,
            all: true,
            reject: false,
          });
          expect(run.exitCode, run.all).toBe(0);
          expect(run.all).toMatch(/\d+ passed/);
        },
      );
    }
  });
});
