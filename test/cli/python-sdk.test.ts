/** The Python package on every Python, but for its workers, which python-sdk-workers.test.ts tries. */
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

const there = found.filter(({ interpreter }) => interpreter !== undefined);
const outermost = new Set([there.at(0)?.version, there.at(-1)?.version]);

/** What Python reads differently from version to version: signatures, annotations, decorators, TOML. */
const VARIES = ["surface", "modes", "settings", "context"].map((noun) => `tests/test_${noun}.py`);

beforeAll(async () => {
  for (const { version, interpreter } of found) if (interpreter) await ensurePytestVenv(version, interpreter);
}, 300_000);

describe("the Python package", () => {
  test("is tested on at least one Python", ({ expect }) => {
    expect(missing.length).toBeLessThan(PYTHON_VERSIONS.length);
  });

  for (const { version, interpreter } of found) {
    test.skipIf(interpreter === undefined)(
      `keeps its promises on Python ${version}`,
      async ({ expect }) => {
        const tried = outermost.has(version) ? ["--ignore=tests/runtime"] : VARIES;
        const { exitCode, all } = await runPytest(version, interpreter ?? "", tried);
        expect(exitCode, all).toBe(0);
        expect(all).toMatch(/\d+ passed/);
      },
      PYTEST_LIMIT_MS,
    );
  }
});
