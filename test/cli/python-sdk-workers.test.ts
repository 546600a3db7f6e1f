/** The workers of the Python package, each of them a process, on the oldest Python that there is. */
import { beforeAll, describe, test } from "vitest";
import { PYTEST_LIMIT_MS, runPytest } from "../support/pytest.ts";
import { ensurePytestVenv, findPythons } from "../support/python-versions.ts";

const oldest = (await findPythons()).find(({ interpreter }) => interpreter !== undefined);

beforeAll(async () => {
  if (oldest?.interpreter) await ensurePytestVenv(oldest.version, oldest.interpreter);
}, 300_000);

describe("the workers of the Python package", () => {
  test(
    "keep their promises on the oldest Python",
    async ({ expect }) => {
      if (!oldest?.interpreter) throw new Error("There is no Python to try them on.");
      const { exitCode, all } = await runPytest(oldest.version, oldest.interpreter, ["tests/runtime"]);
      expect(exitCode, all).toBe(0);
      expect(all).toMatch(/\d+ passed/);
    },
    PYTEST_LIMIT_MS,
  );
});
