import { expect, test } from "vitest";
import { failureOf, formatDiagnostic } from "./discovery-report.ts";

test("a diagnostic shows file and line where it has them", () => {
  expect(formatDiagnostic({ file: "a.py", line: 3, message: "m" })).toBe("a.py:3: m");
  expect(formatDiagnostic({ file: "a.py", line: null, message: "m" })).toBe("a.py: m");
  expect(formatDiagnostic({ file: null, line: null, message: "m" })).toBe("m");
});

test("several errors make one failure, with a line for each", () => {
  const failure = failureOf([
    { file: "a.py", line: 3, message: "one" },
    { file: "b.py", line: 5, message: "two" },
  ]);
  expect(failure.message).toContain("2");
  expect(failure.advice).toEqual(["a.py:3: one", "b.py:5: two"]);
});

test("an error of the whole app becomes a failure with its further lines as advice", () => {
  const failure = failureOf([
    { file: null, line: null, message: "no endpoints were found.\n\n  @Endpoint()\n" },
  ]);
  expect(failure.message).toBe("No endpoints were found.");
  expect(failure.advice).toEqual(["", "  @Endpoint()"]);
});
