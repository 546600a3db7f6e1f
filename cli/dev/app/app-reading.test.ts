import { describe, expect, test } from "vitest";
import { discoveredEndpoint, discoveredFunction, discoveryReport } from "../../../test/support/discovered.ts";
import type { DiscoveredEndpoint, LiveReport } from "../../discovery/discovery-report.ts";
import { runtimeImages, toManifest } from "../../manifest/manifest.ts";
import { changeBetween, type AppReading, NOTHING_READ, failedReading, toReading } from "./app-reading.ts";

const SHA = "a".repeat(64);

function endpoint(name: string, given: Partial<DiscoveredEndpoint> = {}): DiscoveredEndpoint {
  return discoveredEndpoint({ name, filePath: `${name}.py`, localFiles: [`${name}.py`], ...given });
}

type Given = Partial<LiveReport> & { readonly files?: readonly string[]; readonly sha256?: string };

function read(
  endpoints: readonly DiscoveredEndpoint[],
  given: Given = {},
  before = NOTHING_READ,
): AppReading {
  const { files = ["a.py", "b.py", "part.py"], sha256 = SHA, ...report } = given;
  const whole: LiveReport = {
    ...discoveryReport(endpoints),
    id: 1,
    isInterim: false,
    faults: [],
    hashes: Object.fromEntries(files.map((file) => [file, sha256])),
    groups: endpoints.map(({ localFiles }) => localFiles),
    unread: [],
    failure: null,
    opened: [],
    ...report,
  };
  const { resources } = toManifest(whole, {
    appName: "shop",
    pythonVersion: "3.12",
    images: runtimeImages({}, "3.12"),
    fingerprint: "",
    excludedPackages: [],
    generatedAt: "",
  });
  const packages = { byEndpoint: new Map(), files: [], warnings: [] };
  return toReading({ report: whole, resources, packages, files, unsendable: [] }, before);
}

function problems({ endpoints }: AppReading): Record<string, string | undefined> {
  return Object.fromEntries(endpoints.map(({ name, problem }) => [name, problem]));
}

const both = read([endpoint("a"), endpoint("b", { localFiles: ["b.py", "part.py"] })]);

describe("an endpoint that a reading lacks", () => {
  test("is dropped with its declaration", () => {
    expect(problems(read([endpoint("a")], {}, both))).toEqual({ a: undefined });
  });

  test("is dropped with its file, despite errors elsewhere", () => {
    const errors = [{ file: "part.py", line: 1, message: "m" }];
    expect(problems(read([], { errors, files: ["a.py", "part.py"] }, both))).toEqual({});
  });

  test("stays with the problem of a file that it needs", () => {
    const errors = [{ file: "part.py", line: 3, message: "m" }];
    expect(problems(read([endpoint("a")], { errors }, both))).toEqual({ a: undefined, b: "part.py:3: m" });
  });

  test("stays with the problem of a file that it begins to need", () => {
    const errors = [{ file: "new.py", line: 3, message: "m" }];
    const given = { errors, files: ["a.py", "b.py", "new.py"], groups: [["b.py", "new.py"]] };
    expect(problems(read([endpoint("a")], given, both))).toEqual({ a: undefined, b: "new.py:3: m" });
  });

  test("stays while its file is being imported, and when it cannot be", () => {
    const unread = ["b.py", "part.py"];
    const interim = read([endpoint("a")], { isInterim: true, unread }, both);
    expect(problems(interim)).toEqual({ a: undefined, b: expect.stringContaining("b.py") });
    expect(problems(read([endpoint("a")], { unread, failure: "it died" }, both))).toMatchObject({
      b: "it died",
    });
  });
});

describe("what is wrong", () => {
  test("in a file that only other code needs is a warning", () => {
    const note = { file: "notes.py", line: 1, message: "invalid syntax" };
    const reading = read([endpoint("a")], { faults: [note], warnings: [note], files: ["a.py"] });
    expect(reading).toMatchObject({ problems: [], warnings: ["notes.py:1: invalid syntax"] });
    expect(problems(reading)).toEqual({ a: undefined });
  });

  test("in a file that an endpoint needs is its problem, and no warning", () => {
    const note = { file: "part.py", line: 1, message: "invalid syntax" };
    const reading = read([endpoint("b", { localFiles: ["b.py", "part.py"] })], {
      faults: [note],
      warnings: [note],
    });
    expect(reading).toMatchObject({ problems: [expect.stringMatching(/^part\.py:1: /)], warnings: [] });
  });

  test("of the whole app keeps all endpoints, with the reason", () => {
    expect(problems(failedReading(both, "the disk is gone"))).toEqual({
      a: "the disk is gone",
      b: "the disk is gone",
    });
  });
});

test("an endpoint with its own image sends no code", () => {
  const own = endpoint("own", {
    isClient: true,
    functions: [],
    resource: { template: { imageName: "mine" } },
  });
  expect(read([own], { files: ["own.py"] }).endpoints).toMatchObject([
    { resource: { client_mode: true, is_live_resource: false }, code: { modules: {} } },
  ]);
});

describe("a change", () => {
  const names = { added: [], removed: [], changed: [], reconfigured: [], problems: [], warnings: [] };

  test("is none when nothing has changed", () => {
    expect(changeBetween(both, both)).toBeUndefined();
  });

  test("of a file's content changes the endpoints that need it", () => {
    const after = read([endpoint("a"), endpoint("b")], { sha256: "b".repeat(64) });
    expect(changeBetween(read([endpoint("a")]), after)).toEqual({ ...names, added: ["b"], changed: ["a"] });
  });

  test("of a line number is none, and one of a parameter is", () => {
    const moved = read([endpoint("a", { line: 9 }), endpoint("b", { localFiles: ["b.py", "part.py"] })]);
    expect(changeBetween(both, moved)).toBeUndefined();
    const parameters = [{ name: "x", kind: "positional" as const, annotation: null, isRequired: true }];
    const other = read([endpoint("a", { functions: [discoveredFunction({ parameters })] })]);
    expect(changeBetween(read([endpoint("a")]), other)).toEqual({ ...names, changed: ["a"] });
  });

  test("of settings reconfigures", () => {
    const after = read([endpoint("a", { resource: { workersMax: 3 } })]);
    expect(changeBetween(read([endpoint("a")]), after)).toEqual({ ...names, reconfigured: ["a"] });
  });

  test("of problems is reported, with those that remain", () => {
    const stuck = failedReading(both, "m");
    expect(changeBetween(both, stuck)).toEqual({ ...names, problems: ["m"] });
    expect(changeBetween(stuck, both)).toEqual(names);
  });
});
