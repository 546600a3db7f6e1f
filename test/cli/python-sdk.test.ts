/** The Python package on every Python, but for its workers, which python-sdk-workers.test.ts tries on the oldest. */
import { beforeAll, describe, test } from "vitest";
import { PYTEST_LIMIT_MS, runPytest } from "../support/pytest.ts";
import { ensurePytestVenv, findPythons, PYTHON_VERSIONS } from "../support/python-versions.ts";

const found = await findPythons();
const missing = found.filter(({ interpreter }) => interpreter === undefined).map(({ version }) => version);
if (missing.length > 0) {
  process.stderr.write(
    `\n!!!!!! PYTHON TESTS SKIPPED FOR ${missing.join(", ")}: not on this machine !!!!!!\n\n`,
  );
}

/** What starts processes of its own takes a while: what reads syntax is tried on the oldest and the newest. */
const there = found.filter(({ interpreter }) => interpreter !== undefined);
const oldest = there.at(0)?.version;
const newest = there.at(-1)?.version;

function leftOutOn(version: string): readonly string[] {
  const reads = version === oldest || version === newest;
  return reads ? ["tests/runtime"] : ["tests/runtime", "tests/discovery"];
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
        const left = leftOutOn(version).map((folder) => `--ignore=${folder}`);
        const { exitCode, all } = await runPytest(version, interpreter ?? "", left);
        expect(exitCode, all).toBe(0);
        expect(all).toMatch(/\d+ passed/);
      },
      PYTEST_LIMIT_MS,
    );
  }
});
