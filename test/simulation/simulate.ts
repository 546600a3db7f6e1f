/** Runs histories one after the other, and sums up what happened in them. */
import { join } from "node:path";
import { installGlobals } from "./world/globals.ts";
import { installWebTypes } from "./runtime/web-types.ts";
import { loadEdge } from "./runtime/edge.ts";
import { loadAgent } from "./host/host.ts";
import {
  currentNetwork,
  logged,
  type HistoryOutcome,
  type ProductionCode,
  runHistory,
} from "./history/history.ts";
import type { HistoryPlan } from "./history/plan.ts";
import { chartOf } from "./report/chart.ts";
import { Coverage } from "./report/coverage.ts";
import { describePlan, shrink } from "./report/shrink.ts";

export type SimulateOptions = {
  readonly from: number;
  readonly count: number;
  /** No history begins later than this; null for no limit. */
  readonly minutes: number | null;
  /** Prints what happened: as lines, or as a sequence chart. */
  readonly trace: "none" | "lines" | "chart";
  /** Prints which changes were seen beside which faults. */
  readonly isCovered: boolean;
  /** Looks for the smallest history of each seed that goes wrong. */
  readonly isShrunk: boolean;
  /** A checkout of an earlier version, with which each history begins; undefined for none. */
  readonly before: string | undefined;
  /** Ends with the first history in which something was wrong. */
  readonly endsWithFirst: boolean;
};

const ROOT = join(import.meta.dirname, "../..");
const MINUTE_MS = 60_000;
const PROGRESS_MS = 1_000;

/** Returns whether nothing was wrong. */
export async function simulate(options: SimulateOptions): Promise<boolean> {
  installGlobals();
  installWebTypes(currentNetwork);
  // What the code logs of failures that are injected would drown what was found.
  const { log } = console;
  console.log = console.warn = () => {};
  console.error = logged;
  const before = options.before === undefined ? undefined : await loadCode(options.before);
  const code = { ...(await loadCode(ROOT)), before };
  return await new Simulation(options, code, log).run();
}

async function loadCode(checkout: string) {
  return { edge: await loadEdge(checkout), agent: await loadAgent(checkout) };
}

class Simulation {
  readonly #options: SimulateOptions;
  readonly #code: ProductionCode;
  readonly #log: (line: string) => void;
  readonly #coverage = new Coverage();
  readonly #beganAt = performance.now();
  readonly #totals = { histories: 0, wrong: 0, events: 0, jobs: 0, simulatedMs: 0 };
  #shownAt = 0;

  constructor(options: SimulateOptions, code: ProductionCode, log: (line: string) => void) {
    this.#options = options;
    this.#code = code;
    this.#log = log;
  }

  async run(): Promise<boolean> {
    const { from, count, minutes, endsWithFirst, isCovered } = this.#options;
    const until = minutes === null ? Number.POSITIVE_INFINITY : this.#beganAt + minutes * MINUTE_MS;
    for (let seed = from; seed < from + count && performance.now() < until; seed += 1) {
      const isRight = await this.#history(seed);
      if (!isRight && endsWithFirst) {
        this.#log(`Found after ${this.#totals.histories} histories.`);
        return false;
      }
      this.#showProgress(seed);
    }
    if (isCovered) this.#log(this.#coverage.table());
    this.#log(this.#summary());
    return this.#totals.wrong === 0;
  }

  async #history(seed: number): Promise<boolean> {
    const { trace, isShrunk, endsWithFirst } = this.#options;
    const outcome = await runHistory(seed, this.#code, { isTraced: trace !== "none" });
    const isRight = outcome.violations.length === 0;
    const totals = this.#totals;
    totals.histories += 1;
    totals.events += outcome.eventCount;
    totals.jobs += outcome.jobCount;
    totals.simulatedMs += outcome.simulatedMs;
    this.#coverage.add(outcome.changes);
    if (!isShrunk && !(isRight && endsWithFirst)) this.#show(outcome);
    if (isRight) return true;
    totals.wrong += 1;
    this.#log(describe(outcome));
    if (isShrunk) await this.#shrink(outcome);
    return false;
  }

  /** What happened in it, if that was asked for. */
  #show({ trace: events }: HistoryOutcome): void {
    const { trace } = this.#options;
    if (trace === "chart") this.#log(chartOf(events));
    if (trace === "lines")
      for (const { at, machine, what } of events) this.#log(`${at}\t${machine}\t${what}`);
  }

  async #shrink({ seed, plan, violations: found }: HistoryOutcome): Promise<void> {
    const isTraced = this.#options.trace !== "none";
    const run = async (smaller: HistoryPlan): Promise<HistoryOutcome> =>
      await runHistory(seed, this.#code, { plan: smaller, isTraced });
    const kinds = new Set(found.map(kindOf));
    const goesWrong = async (smaller: HistoryPlan): Promise<boolean> =>
      (await run(smaller)).violations.some((violation) => kinds.has(kindOf(violation)));
    const smallest = await shrink(plan, goesWrong);
    const outcome = await run(smallest);
    const { violations } = outcome;
    this.#show(outcome);
    this.#log([`  Shrunk: ${describePlan(smallest)}`, ...violations.map((one) => `    ${one}`)].join("\n"));
  }

  /** On a terminal: how far it is. */
  #showProgress(seed: number): void {
    if (!process.stderr.isTTY || performance.now() - this.#shownAt < PROGRESS_MS) return;
    this.#shownAt = performance.now();
    process.stderr.write(`\r\x1b[KSeed ${seed}: ${this.#summary()}`);
  }

  #summary(): string {
    const { histories, wrong, events, jobs, simulatedMs } = this.#totals;
    const seconds = (performance.now() - this.#beganAt) / 1_000;
    const hours = (simulatedMs / 3_600_000).toFixed(1);
    const speed = (histories / seconds).toFixed(1);
    return (
      `${histories} histories, ${wrong} of them wrong; ${jobs} jobs, ${events} events, ${hours} simulated hours ` +
      `in ${seconds.toFixed(1)} s (${speed} histories per second)`
    );
  }
}

/** What went wrong, without the times, ids and numbers of one history. */
function kindOf(violation: string): string {
  return violation.replaceAll(/\S*\d\S*/g, "_");
}

function describe({ seed, violations, plan }: HistoryOutcome): string {
  const faults = [...plan.faults].map(([fault, rate]) => `${fault} ${rate}`).join(", ") || "none";
  return [`Seed ${seed}, faults: ${faults}`, ...violations.map((violation) => `  ${violation}`)].join("\n");
}
