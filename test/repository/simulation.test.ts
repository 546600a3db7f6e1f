import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
/** So many take about two minutes of processor time. More with SIMULATED_HISTORIES, and each night. */
const HISTORIES = process.env["SIMULATED_HISTORIES"] ?? "250";
/** They compute all the time; a longer search takes longer. */
const LIMIT_MS = 60_000 + 2_000 * Number(HISTORIES);

const run = promisify(execFile);

async function node(program: string, ...flags: string[]): Promise<string> {
  const path = join(ROOT, "test/simulation", program);
  const ended = run(process.execPath, [path, ...flags], { maxBuffer: 50_000_000 });
  const { stdout } = await ended.catch((error: { readonly stdout: string }) => error);
  return stdout;
}

const simulate = (...flags: string[]): Promise<string> => node("main.ts", ...flags);

test("the simulated runtime does what workerd does, case by case", async ({ expect }) => {
  expect(await node("conformance/main.ts")).toContain("cases, 0 of them wrong");
});

test("in simulated histories with faults nothing is wrong", { timeout: LIMIT_MS }, async ({ expect }) => {
  const lines = (await simulate("--seeds", HISTORIES)).trimEnd().split("\n");
  expect(lines.slice(0, -1)).toEqual([]); // seeds, and what was wrong
  expect(lines.at(-1)).toContain(`${HISTORIES} histories, 0 of them wrong`);
});

test("endpoints that share GPUs wait for each other, and get what their weights say", async ({ expect }) => {
  const seen = await node("scenarios/main.ts", "--only", "one GPU");
  expect(seen.match(/^one GPU/gm)).toHaveLength(2);
  expect(seen.match(/wrong: .*/g) ?? []).toEqual([]);
});

test("the same seed makes the same history", async ({ expect }) => {
  const trace = async (): Promise<string> =>
    (await simulate("--from", "5", "--seeds", "1", "--trace")).split("\n").slice(0, -2).join("\n");
  const [first, second] = await Promise.all([trace(), trace()]);
  expect(first.split("\n").length).toBeGreaterThan(100);
  expect(second).toBe(first);
});
