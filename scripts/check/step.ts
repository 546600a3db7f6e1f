import { execFile } from "node:child_process";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

/** What a step of the check reports: a word or two for its line, and its output only if it failed. */
export type StepOutcome =
  | { readonly kind: "passed"; readonly remark?: string }
  | { readonly kind: "failed"; readonly output: string };

export type Step = { readonly name: string; run(): Promise<StepOutcome> };

const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;

/** Runs a tool of node_modules with this Node; fails with all that it printed. */
export async function runTool(
  root: string,
  entry: string,
  args: readonly string[],
  remarkOf?: (output: string) => string | undefined,
): Promise<StepOutcome> {
  const script = join(root, "node_modules", entry);
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", NO_COLOR: "1", CI: "1" };
  const options = { cwd: root, env, maxBuffer: OUTPUT_MAX_BYTES };
  return await new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], options, (error, stdout, stderr) => {
      const output = stripVTControlCharacters(`${stdout}${stderr}`).trim();
      if (error) resolve({ kind: "failed", output: output || error.message });
      else resolve({ kind: "passed", ...remarkAs(remarkOf?.(output)) });
    });
  });
}

function remarkAs(remark: string | undefined): { remark?: string } {
  return remark === undefined ? {} : { remark };
}
