import { expect, test } from "vitest";
import { discoveredEndpoint, discoveryReport } from "../../test/support/discovered.ts";
import { choosePythonVersion } from "./python-version.ts";

function reportOf(python: string, versions: readonly (string | null)[]) {
  const endpoints = versions.map((pythonVersion, at) =>
    discoveredEndpoint({ name: `e${at}`, line: at + 1, pythonVersion }),
  );
  return discoveryReport(endpoints, {
    python: { version: python, executable: "python3", platform: "linux-x86_64" },
  });
}

test.each([
  ["3.10.13", "3.10"],
  ["3.13.0", "3.13"],
  ["3.14.1", "3.12"],
])("an interpreter of Python %s builds for %s", (python, chosen) => {
  expect(choosePythonVersion(reportOf(python, [null]))).toBe(chosen);
});

test("the declared version takes precedence over the interpreter and must match --python-version", () => {
  expect(choosePythonVersion(reportOf("3.11.7", [null, "3.13"]))).toBe("3.13");
  expect(choosePythonVersion(reportOf("3.11.7", ["3.13"]), "3.13")).toBe("3.13");
  expect(choosePythonVersion(reportOf("3.11.7", [null]), "3.10")).toBe("3.10");
});

test("two versions in one app fail with both places", () => {
  const advice = ["the endpoint e0 (worker.py:1): 3.12", "the endpoint e2 (worker.py:3): 3.13"];
  expect(() => choosePythonVersion(reportOf("3.11.7", ["3.12", null, "3.13"]))).toThrow(
    expect.objectContaining({ name: "Failure", advice }),
  );
  expect(() => choosePythonVersion(reportOf("3.11.7", ["3.12"]), "3.11")).toThrow(
    expect.objectContaining({ advice: ["--python-version: 3.11", "the endpoint e0 (worker.py:1): 3.12"] }),
  );
});

test.each(["3.9", "3.14", "3", "3.12.1", "latest", ""])("Python %j has no image", (version) => {
  expect(() => choosePythonVersion(reportOf("3.11.7", [null]), version)).toThrowErrorMatchingSnapshot();
});

test("an endpoint with its own image does not decide the version", () => {
  const report = discoveryReport([discoveredEndpoint({ isClient: true, pythonVersion: "3.13" })]);
  expect(choosePythonVersion(report)).toBe("3.11");
});
