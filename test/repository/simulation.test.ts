import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
/** More with SIMULATED_HISTORIES. */
const HISTORIES = process.env["SIMULATED_HISTORIES"] ?? "60";

const run = promisify(execFile);

async function simulate(...flags: string[]): Promise<string> {
  const program = join(ROOT, "test/simulation/main.ts");
  const { stdout } = await run(process.execPath, [program, ...flags], { maxBuffer: 50_000_000 });
  return stdout;
}

test("in simulated histories with faults nothing is wrong", async ({ expect }) => {
  expect(await simulate("--seeds", HISTORIES)).toContain(` histories, 0 of them wrong`);
});

test("the same seed makes the same history", async ({ expect }) => {
  const trace = async (): Promise<string> =>
    (await simulate("--from", "5", "--seeds", "1", "--trace")).split("\n").slice(0, -2).join("\n");
  const [first, second] = await Promise.all([trace(), trace()]);
  expect(first.split("\n").length).toBeGreaterThan(100);
  expect(second).toBe(first);
});
