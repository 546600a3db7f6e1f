/**
 * False alarms and misses of the rule that judges canaries: `node bench/rollout/canary-rule.ts` prints both tables of
 * decision 81. Each figure is of 1,000 rollouts with a tenth of the jobs on the new version.
 */
import { simulateRollouts } from "../../test/support/canary-rollouts.ts";

const ROLLOUTS = 1_000;
const LOADS = [60, 360, 3_600, 180_000];
const FAILURES = [
  [0, 0],
  [0.01, 0.01],
  [0.05, 0.05],
  [0.2, 0.2],
  [0, 0.02],
  [0, 0.05],
  [0, 0.1],
  [0, 0.2],
  [0, 0.5],
  [0, 1],
  [0.01, 0.1],
  [0.05, 0.2],
  [0.05, 0.5],
  [0.2, 0.5],
  [0.2, 1],
] as const;
const SLOWDOWNS = [
  [0.3, 1],
  [1, 1],
  [0.3, 1.1],
  [0.3, 1.5],
  [0.3, 2],
  [1, 2],
  [1, 4],
] as const;

function show(cells: readonly string[]): void {
  console.log(`| ${cells.join(" | ")} |`);
}

const loads = LOADS.map((jobs) => `${jobs} jobs/h`);
show(["fails before", "fails after", ...loads]);
show(["---", "---", ...LOADS.map(() => "---")]);
for (const [baseFails, canaryFails] of FAILURES) {
  const cells = LOADS.map((jobsPerHour) => {
    const load = { jobsPerHour, baseFails, canaryFails, spread: 0.5, slower: 1 };
    const { back, canaryJobs } = simulateRollouts(load, ROLLOUTS, jobsPerHour);
    return `${back} (${canaryJobs.toFixed(0)})`;
  });
  show([`${baseFails * 100} %`, `${canaryFails * 100} %`, ...cells]);
}
console.log();
show(["spread", "slower", ...loads]);
show(["---", "---", ...LOADS.map(() => "---")]);
for (const [spread, slower] of SLOWDOWNS) {
  const cells = LOADS.map((jobsPerHour) => {
    const load = { jobsPerHour, baseFails: 0.01, canaryFails: 0.01, spread, slower };
    const { back, canaryJobs } = simulateRollouts(load, ROLLOUTS, jobsPerHour);
    return `${back} (${canaryJobs.toFixed(0)})`;
  });
  show([`${spread}`, `${slower} times`, ...cells]);
}
