import { resolve } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, test } from "vitest";
import { ensurePytestVenv, findPython, PYTHON_VERSIONS } from "../support/python-versions.ts";

/** The slow half has to wait for some hundred processes, on a machine that is busy with other tests. */
const TIME_LIMIT_MS = 300_000;
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

/** What starts processes of its own takes a while: all of it on the oldest, what reads syntax on the newest as well. */
const there = found.filter(({ interpreter }) => interpreter !== undefined);
const oldest = there.at(0)?.version;
const newest = there.at(-1)?.version;

function leftOutOn(version: string): readonly string[] {
  if (version === oldest) return [];
  return version === newest ? ["tests/runtime"] : ["tests/runtime", "tests/discovery"];
}

beforeAll(async () => {
  for (const { version, interpreter } of found) if (interpreter) await ensurePytestVenv(version, interpreter);
}, 300_000);

describe("the Python package", () => {
  test("has a Python to be tried on", ({ expect }) => {
    expect(missing.length).toBeLessThan(PYTHON_VERSIONS.length);
  });

  for (const { version, interpreter } of found) {
    test.skipIf(interpreter === undefined)(
      `keeps its promises on Python ${version}`,
      async ({ expect }) => {
        const python = await ensurePytestVenv(version, interpreter ?? "");
        const left = leftOutOn(version).map((folder) => `--ignore=${folder}`);
        const { exitCode, all } = await execa(python, ["-m", "pytest", ...left], {
          cwd: PACKAGE,
          // Several versions would write bytecode at once.
          env: { PYTHONDONTWRITEBYTECODE: "1" },
          all: true,
          reject: false,
        });
        expect(exitCode, all).toBe(0);
        expect(all).toMatch(/\d+ passed/);
      },
      TIME_LIMIT_MS,
    );
  }
});
