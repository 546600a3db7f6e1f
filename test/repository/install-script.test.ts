import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, test } from "vitest";
import { AGENT_NODE_MIN } from "../../src/contract/agent/agent-version.ts";

const SCRIPT = join(resolve(import.meta.dirname, "../.."), "node-agent/install/install.sh");
const text = readFileSync(SCRIPT, "utf8");
const hasShellcheck = spawnSync("shellcheck", ["--version"]).status === 0;

describe("the script that installs the agent", () => {
  test("does nothing before its last line", ({ expect }) => {
    const lines = text.trimEnd().split("\n");
    expect(lines.at(-1)).toBe('install_edgerun "$@"');
    // All of it but the call, read by a shell that would say what it runs.
    const { stderr, status } = spawnSync("/bin/sh", ["-x"], { input: lines.slice(0, -1).join("\n") });
    expect(status).toBe(0);
    const ran = stderr.toString().trim().split("\n");
    expect(ran.filter((line) => !/^\+ (set -eu|[A-Z0-9_]+=.*)$/.test(line))).toEqual([]);
  });

  test("asks for the Node that the agent is built for", ({ expect }) => {
    const [, major, minor] = /NODE_MIN_MAJOR=(\d+)\nNODE_MIN_MINOR=(\d+)/.exec(text) ?? [];
    expect(`${major}.${minor}.0`).toBe(AGENT_NODE_MIN);
  });

  test.for([
    ["docker", true],
    ["process", false],
  ] as const)("bounds the memory of an agent on %s: %s", ([runtime, isBounded], { expect }) => {
    const functions = text.trimEnd().split("\n").slice(0, -1).join("\n");
    const input = `${functions}\nplace() { cat; }\nruntime=${runtime} edge=http://edge write_unit`;
    const { stdout, status } = spawnSync("/bin/sh", [], { input });
    expect(status).toBe(0);
    expect(/^MemoryMax=2G$/m.test(stdout.toString())).toBe(isBounded);
    expect(stdout.toString()).toContain("\nNoNewPrivileges=yes\n");
  });

  test.skipIf(!hasShellcheck)("has no fault that shellcheck finds", ({ expect }) => {
    const { stdout } = spawnSync("shellcheck", ["--shell=sh", "--severity=info", SCRIPT]);
    expect(stdout.toString()).toBe("");
  });
});
