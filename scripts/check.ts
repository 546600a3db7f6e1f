/** `npm run check`: format, lint, patterns, retired words, mutants, types, dead code, migrations, bundle. Prints output of failures only. */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Step, StepOutcome } from "./check/step.ts";
import { checkSteps } from "./check/steps.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const CONCURRENT_STEPS = 2;

type Finished = { readonly step: Step; readonly outcome: StepOutcome };

async function runStep(step: Step): Promise<Finished> {
  const startedAt = Date.now();
  const outcome = await step.run();
  const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1).padStart(5);
  const remark = outcome.kind === "passed" && outcome.remark ? `  (${outcome.remark})` : "";
  console.log(`${outcome.kind === "passed" ? "ok    " : "FAILED"} ${seconds} s  ${step.name}${remark}`);
  return { step, outcome };
}

async function runAll(steps: readonly Step[]): Promise<readonly Finished[]> {
  const waiting = [...steps];
  const finished: Finished[] = [];
  async function work(): Promise<void> {
    for (let step = waiting.shift(); step; step = waiting.shift()) finished.push(await runStep(step));
  }
  await Promise.all(Array.from({ length: CONCURRENT_STEPS }, work));
  return finished;
}

const finished = await runAll(checkSteps(ROOT));
for (const { step, outcome } of finished) {
  if (outcome.kind === "passed") continue;
  console.log(`\n--- ${step.name}\n${outcome.output}`);
  process.exitCode = 1;
}
const failures = finished.filter(({ outcome }) => outcome.kind === "failed").length;
console.log(failures === 0 ? "\nAll checks passed." : `\n${failures} of ${finished.length} checks failed.`);
