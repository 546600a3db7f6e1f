import { describe, expect, test } from "vitest";
import { byProductDirectories, IgnoreRules, isNeverShipped } from "./ignore-rules.ts";

describe("what is never shipped", () => {
  test.each([
    ".env",
    ".env.production",
    ".env.example",
    "a/.env.local",
    ".ENV",
    ".envs/",
    ".flash/",
    ".git/",
    "a/.gitignore",
    "a/__pycache__/",
    "x.pyc",
    "x.egg-info/",
    "data.tar.gz",
    ".venv/",
    "venv/",
    "a/node_modules/",
    ".vscode/",
    ".idea/",
    "test_app.py",
    "a/app_test.py",
    "NOTES.md",
    "a/b/CHANGES.md",
  ])("%s", (path) => {
    expect(isNeverShipped(path)).toBe(true);
  });

  test.each([
    "env/",
    "build/",
    "docs/",
    "tests/",
    "README.md",
    "a/README.md",
    "environment.py",
    "contest.py",
    ".github/x.yml",
  ])("%s is not among it", (path) => {
    expect(isNeverShipped(path)).toBe(false);
  });
});

test("directories that may be by-products are found on every level", () => {
  expect(byProductDirectories("a/docs/b/build/c.py")).toEqual(["a/docs", "a/docs/b/build"]);
  expect(byProductDirectories("docs.py")).toEqual([]);
});

describe("rules of .gitignore", () => {
  const root = new IgnoreRules().with("", "*.log\n/data/\n!keep.log\n");

  test("match like git", () => {
    expect(
      ["a.log", "b/a.log", "data/", "keep.log", "b/data/", "A.LOG"].map((path) => root.ignores(path)),
    ).toEqual([true, true, true, false, false, false]);
  });

  test("of an inner directory take precedence, and apply only inside", () => {
    const inner = root.with("a", "!x.log\n*.bin\n/top.txt\n");
    expect(
      ["a/x.log", "a/y.log", "a/b/z.bin", "a/top.txt", "a/b/top.txt"].map((path) => inner.ignores(path)),
    ).toEqual([false, true, true, true, false]);
  });
});
