/** Whether workers that print more than they may lose what is above the limit, and nothing else without a word. */
import type { PrintedOutput } from "../host/printed-output.ts";
import type { LineView } from "./log-lines.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

type Shown = { readonly count: number; readonly bytes: number; readonly missing: number };

/** What a worker may print at once and in the long run, in bytes; a line counts as so many more than it has. */
const BURST_BYTES = 2_000_000;
const BYTES_PER_MS = 100;
const LINE_BYTES = 100;
/** Within this, what is printed is read. */
const READ_MS = 2_000;

/** Output that is read late has later limits. */
const LATE: readonly Fault[] = ["daemonBroken"];

const NOTICE = /^(\d+) lines (?:are missing|were dropped) here: /;

export class LogLosses {
  readonly #plan: HistoryPlan;
  /** By worker, in the last reading of all its lines. */
  readonly #shown = new Map<string, Shown>();

  constructor(plan: HistoryPlan) {
    this.#plan = plan;
  }

  /** All lines of an endpoint. */
  readWhole(views: readonly LineView[]): void {
    for (const [workerId, own] of Map.groupBy(views, (view) => view.workerId)) {
      const printed = own.filter(({ source }) => source === "container");
      const bytes = sum(printed.map(({ line }) => line.length + LINE_BYTES));
      const missing = sum(own.map(({ line }) => Number(NOTICE.exec(line)?.[1] ?? 0)));
      this.#shown.set(workerId, { count: printed.length, bytes, missing });
    }
  }

  /** What is wrong with the lines of a worker; those until `dueMs` are stored. */
  *mistakesOf(workerId: string, outputs: readonly PrintedOutput[], dueMs: number): Generator<string> {
    const shown = this.#shown.get(workerId);
    if (!shown || outputs.some(({ hasOutlivedAgent }) => hasOutlivedAgent)) return;
    const { count, bytes, missing } = shown;
    const times = outputs.flatMap(({ lines }) => lines.map(({ at }) => at));
    const due = times.filter((at) => at < dueMs).length;
    if (count + missing < due || count + missing > times.length)
      yield `${workerId} has printed ${due} lines, of which ${count} are shown, and ${missing} are said to be missing`;
    const spanMs = Math.max(...times) - Math.min(...times) + READ_MS;
    const limit = BURST_BYTES + spanMs * BYTES_PER_MS;
    if (bytes > limit && !LATE.some((fault) => this.#plan.faults.has(fault)))
      yield `${bytes} bytes of ${workerId} are shown, which may print ${limit} in that time`;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
