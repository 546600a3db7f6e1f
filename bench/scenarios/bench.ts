/** What every scenario is given, and how it measures one contestant after the other. */
import type { Contestant, ContestantName } from "../contestants/contestant.ts";
import type { DriverCommands } from "../load/driver-process.ts";
import type { LoadOrder, LoadResult } from "../load/order.ts";
import type { Child } from "../process/child.ts";
import { cpuPerJob, cpuTimes } from "../process/cpu-time.ts";
import type { Sheet, Unit } from "../report/sheet.ts";

export type Bench = {
  readonly contestants: readonly Contestant[];
  readonly driver: Child<DriverCommands>;
  readonly sheet: Sheet;
  readonly rounds: number;
  /** Length of one load in ms. */
  readonly loadMs: number;
  readonly isQuick: boolean;
  /** What runsync submits. */
  readonly jobBody: string;
  /** Measure processor time too. */
  readonly hasCpu: boolean;
};

export type Scenario = {
  readonly name: string;
  run(bench: Bench): Promise<void>;
};

/** Contestant after contestant, round after round: what disturbs the machine disturbs all. */
export async function interleaved(
  { contestants, rounds }: Bench,
  measure: (contestant: Contestant) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const contestant of contestants) await measure(contestant);
  }
}

/** Contestants whose worker can be told what to do. */
export function commanded(bench: Bench): Bench {
  return { ...bench, contestants: bench.contestants.filter(({ worker }) => worker !== undefined) };
}

export type Condition = { readonly scenario: string; readonly variant: string };

/** Runs a load on a contestant and notes what it gave. */
export async function load(
  bench: Bench,
  contestant: Contestant,
  condition: Condition,
  order: Omit<LoadOrder, "api">,
): Promise<LoadResult> {
  const roles = { ...contestant.roles(), driver: [bench.driver.pid] };
  const before = cpuTimes(roles);
  const result = await bench.driver.ask("load", { ...order, api: contestant.api });
  const after = cpuTimes(roles);
  const { sheet } = bench;
  if (result.failures > 0) {
    const what = `${condition.scenario}, ${condition.variant}, ${contestant.name}`;
    sheet.remark(`${what}: ${result.failures} requests failed, the first with: ${result.firstFailure}`);
  }
  if (bench.hasCpu && result.count > 0) {
    for (const [role, us] of Object.entries(cpuPerJob(before, after, result.count))) {
      note(bench, contestant.name, condition, `processor time of ${role}`, "µs", us);
    }
  }
  return result;
}

export function note(
  { sheet }: Bench,
  contestant: ContestantName,
  condition: Condition,
  figure: string,
  unit: Unit,
  value: number,
): void {
  sheet.add({ ...condition, figure, unit }, contestant, value);
}

export function noteLatency(
  bench: Bench,
  contestant: ContestantName,
  condition: Condition,
  latency: LoadResult["latency"],
): void {
  if (latency.max === 0) return; // nothing succeeded; the failures are remarked on
  note(bench, contestant, condition, "p50", "ms", latency.p50);
  note(bench, contestant, condition, "p99", "ms", latency.p99);
}
