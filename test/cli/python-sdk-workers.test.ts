/** The workers of the Python package, each of them a process, on the oldest and the newest Python that there is. */
import { beforeAll, describe, test } from "vitest";
import { PYTEST_LIMIT_MS, runPytest } from "../support/pytest.ts";
import { ensurePytestVenv, findPythons } from "../support/python-versions.ts";

const there = (await findPythons()).flatMap(({ version, interpreter }) =>
  interpreter === undefined ? [] : [{ version, interpreter }],
);
const [oldest, newest] = [there.at(0), there.at(-1)];

/** Signals, threads and the event loop, with one worker for all tests of a file. */
const VARIES = ["live_jobs", "server_http"].map((noun) => `tests/runtime/test_${noun}.py`);

beforeAll(async () => {
  for (const { version, interpreter } of there) await ensurePytestVenv(version, interpreter);
}, 300_000);

describe("the workers of the Python package", () => {
  test.for([
    { age: "oldest", python: oldest, tried: ["tests/runtime"] },
    { age: "newest", python: newest, tried: VARIES },
  ])(
    "keep their promises on the $age Python",
    { timeout: PYTEST_LIMIT_MS },
    async ({ python, tried }, { expect }) => {
      if (!python) throw new Error("There is no Python to try them on.");
      const { exitCode, all } = await runPytest(python.version, python.interpreter, tried);
      expect(exitCode, all).toBe(0);
      expect(all).toMatch(/\d+ passed/);
    },
  );
});
