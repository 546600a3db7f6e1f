/** Runs histories one after the other, and sums up what happened in them. */
import { installGlobals } from "./world/globals.ts";
import { installWebTypes } from "./runtime/web-types.ts";
import { loadEdge } from "./runtime/edge.ts";
import { loadAgent } from "./host/host.ts";
import { currentNetwork, type HistoryOutcome, runHistory } from "./history/history.ts";

export type SimulateOptions = {
  readonly from: number;
  readonly count: number;
  /** No history begins later than this; null for no limit. */
  readonly minutes: number | null;
  readonly isTraced: boolean;
  /** Ends with the first history in which something was wrong. */
  readonly endsWithFirst: boolean;
};

const MINUTE_MS = 60_000;

/** Returns whether nothing was wrong. */
export async function simulate({
  from,
  count,
  minutes,
  isTraced,
  endsWithFirst,
}: SimulateOptions): Promise<boolean> {
  installGlobals();
  installWebTypes(currentNetwork);
  // What the code logs of failures that are injected would drown what was found.
  const { log } = console;
  console.log = console.warn = console.error = () => {};
  const code = { edge: await loadEdge(), agent: await loadAgent() };
  const beganAt = performance.now();
  const until = minutes === null ? Number.POSITIVE_INFINITY : beganAt + minutes * MINUTE_MS;
  const totals = { histories: 0, wrong: 0, events: 0, jobs: 0, simulatedMs: 0 };
  for (let seed = from; seed < from + count && performance.now() < until; seed += 1) {
    const outcome = await runHistory(seed, code, isTraced);
    totals.histories += 1;
    totals.events += outcome.eventCount;
    totals.jobs += outcome.jobCount;
    totals.simulatedMs += outcome.simulatedMs;
    if (isTraced) for (const { at, machine, what } of outcome.trace) log(`${at}\t${machine}\t${what}`);
    if (outcome.violations.length === 0) continue;
    totals.wrong += 1;
    log(describe(outcome));
    if (endsWithFirst) {
      log(`Found after ${totals.histories} histories.`);
      return false;
    }
  }
  const seconds = (performance.now() - beganAt) / 1_000;
  const hours = totals.simulatedMs / 3_600_000;
  log(
    `${totals.histories} histories, ${totals.wrong} of them wrong; ${totals.jobs} jobs, ${totals.events} events, ` +
      `${hours.toFixed(1)} simulated hours in ${seconds.toFixed(1)} s (${(totals.histories / seconds).toFixed(1)} histories per second)`,
  );
  return totals.wrong === 0;
}

function describe({ seed, violations, plan }: HistoryOutcome): string {
  const faults = [...plan.faults].map(([fault, rate]) => `${fault} ${rate}`).join(", ") || "none";
  return [`Seed ${seed}, faults: ${faults}`, ...violations.map((violation) => `  ${violation}`)].join("\n");
}
