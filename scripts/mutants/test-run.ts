import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";

const TEST_LIMIT_S = 30;
const BASELINE_LIMIT_S = 300;
/** A run with a mutant may take three times as long as without it, and this. */
const EXTRA_S = 30;

/** Test files of one vitest project, with the tests that pass without any mutant. */
export type Baseline = {
  readonly files: readonly string[];
  readonly passed: ReadonlySet<string>;
  readonly seconds: number;
};

type TestResult = { readonly name: string; readonly status: string; readonly messages: readonly string[] };

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      assertionResults: z.array(
        z.object({ fullName: z.string(), status: z.string(), failureMessages: z.array(z.string()) }),
      ),
    }),
  ),
});

/** Runs the files without a mutant. Throws where a test fails, none passes, or the run exceeds its limit. */
export async function runBaseline(
  root: string,
  files: readonly string[],
  signal: AbortSignal,
): Promise<Baseline> {
  const startedAt = Date.now();
  const run = await runTests(root, files, BASELINE_LIMIT_S, signal);
  const names = files.join(" ");
  if (run === "hung") throw new Error(`${names}: no end after ${BASELINE_LIMIT_S} s without a mutant`);
  const failed = run.tests.filter(({ status }) => status === "failed").map(({ name }) => name);
  if (run.exitCode !== 0) throw new Error(`${names}: fails without a mutant: ${failed.join("; ")}`);
  const passed = run.tests.filter(({ status }) => status === "passed").map(({ name }) => name);
  if (passed.length === 0) throw new Error(`${names}: no test passes without a mutant`);
  return { files, passed: new Set(passed), seconds: (Date.now() - startedAt) / 1_000 };
}

/** Whether tests of the baseline fail now; "error" where the run fails and none of them does. */
export async function failuresOf(
  root: string,
  { files, passed, seconds }: Baseline,
  signal: AbortSignal,
): Promise<"killed" | "hung" | "error" | "survived"> {
  const run = await runTests(root, files, 3 * seconds + EXTRA_S, signal);
  if (run === "hung") return "hung";
  const failed = run.tests.filter(({ name, status }) => status === "failed" && passed.has(name));
  if (failed.some(({ messages }) => !messages.some(isTimeout))) return "killed";
  if (failed.length > 0) return "hung";
  return run.exitCode === 0 ? "survived" : "error";
}

function isTimeout(message: string): boolean {
  return /(Test|Hook) timed out in \d+ms/.test(message);
}

type Run = { readonly exitCode: number | null; readonly tests: readonly TestResult[] };

async function runTests(
  root: string,
  files: readonly string[],
  limitS: number,
  signal: AbortSignal,
): Promise<Run | "hung"> {
  const directory = await mkdtemp(join(tmpdir(), "edgerun-mutant-run-"));
  const report = join(directory, "report.json");
  try {
    const exitCode = await runVitest(root, files, report, limitS, signal);
    if (exitCode === "hung") return "hung";
    const text = await readFile(report, "utf8").catch(() => '{"testResults":[]}');
    return { exitCode, tests: readReport(root, JSON.parse(text)) };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function runVitest(
  root: string,
  files: readonly string[],
  report: string,
  limitS: number,
  signal: AbortSignal,
): Promise<number | null | "hung"> {
  signal.throwIfAborted();
  const limits = ["--bail", "1", "--testTimeout", String(TEST_LIMIT_S * 1_000), "--maxWorkers", "2"];
  const reporter = ["--reporter", "json", "--outputFile", report];
  const projects = [...new Set(files.map(projectOf))].flatMap((project) => ["--project", project]);
  const child = spawn(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", "run", ...projects, ...limits, ...reporter, ...files],
    { cwd: root, stdio: "ignore", detached: true },
  );
  const ended = once(child, "exit").then(([code]): number | null => (typeof code === "number" ? code : null));
  const late = delay(limitS * 1_000, "hung" as const, { ref: false, signal }).catch(() => "hung" as const);
  const exitCode = await Promise.race([ended, late]);
  if (exitCode === "hung" && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  await ended;
  signal.throwIfAborted();
  return exitCode;
}

function projectOf(file: string): string {
  const [top = "", folder = ""] = file.split("/");
  return top === "test" ? folder : "unit";
}

/** Names of tests without the seeds of property tests, which differ between runs. */
function readReport(root: string, report: unknown): readonly TestResult[] {
  return reportSchema.parse(report).testResults.flatMap(({ name: file, assertionResults }) =>
    assertionResults.map(({ fullName, status, failureMessages }) => ({
      name: `${relative(root, file)} ${fullName.replace(/ \(with seed=-?\d+\)/, "")}`,
      status,
      messages: failureMessages,
    })),
  );
}
