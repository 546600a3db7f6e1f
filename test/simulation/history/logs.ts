/** What containers have printed, and whether what clients read of it can be true. */
import type { WorkerSpec } from "../../../node-agent/runtime/interface/runtime.ts";
import { PIECE_BYTES, type PrintedLine, PrintedOutput } from "../host/printed-output.ts";
import type { World } from "../world/world.ts";
import { type Account, accountWith } from "./account.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

/** A line as the edge shows it. */
export type LineView = {
  readonly id: string;
  readonly at: number;
  readonly workerId: string;
  readonly source: string;
  readonly stream?: string;
  readonly line: string;
  readonly jobId?: string;
  readonly level?: string;
};

type Printed = { readonly output: PrintedOutput; readonly spec: WorkerSpec; readonly token: string };

export type LogsParts = {
  readonly world: World;
  readonly accounts: readonly Account[];
  readonly plan: HistoryPlan;
  readonly violate: (what: string) => void;
};

const MARK = /<(c\d+)\.(\d+)> /;
const CUT = " … (cut)";
const HIDDEN = "[secret]";
/** A line is at the edge within this, where nothing goes wrong: batches of a worker are a minute apart at most. */
const SHIPPED_MS = 75_000;
/** A host whose clock is set gives lines the times of others, and Docker leaves out those before the last that was read. */
const DISORDER: readonly Fault[] = ["clockJumps"];

export class Logs {
  readonly #parts: LogsParts;
  readonly #printed = new Map<string, Printed>();
  /** Of each endpoint, what clients were shown: by the id of a line, its source and text. */
  readonly #shown = new Map<string, Map<string, string>>();
  /** How many lines of a container were in a whole reading. */
  readonly #stored = new Map<string, number>();
  /** No two lines have the same time, and later ones have later times. */
  readonly isOrdered: boolean;

  constructor(parts: LogsParts) {
    this.#parts = parts;
    this.isOrdered = !DISORDER.some((fault) => parts.plan.faults.has(fault));
  }

  /** Null in a history without logs. */
  open(spec: WorkerSpec, clock: () => number): PrintedOutput | null {
    const { plan, world } = this.#parts;
    if (!plan.hasLogs) return null;
    const output = new PrintedOutput(world, `c${this.#printed.size + 1}`, clock);
    const address = spec.env["RUNPOD_WEBHOOK_GET_JOB"];
    const token = address === undefined ? "" : (new URL(address).pathname.split("/")[1] ?? "");
    this.#printed.set(output.name, { output, spec, token });
    return output;
  }

  // What is shown

  /** What was true when a reading began, which it must show as well. */
  begin(): ReadonlyMap<string, number> {
    return new Map(this.#stored);
  }

  /** All lines that the edge has of an endpoint, or of one of its workers: of each container the first ones, all of them. */
  readWhole(
    endpointId: string,
    views: readonly LineView[],
    before: ReadonlyMap<string, number>,
    workerId?: string,
  ) {
    const counts = this.read(endpointId, views, true);
    for (const [name, { spec }] of this.#printed) {
      if (spec.endpointId !== endpointId || (workerId !== undefined && spec.workerId !== workerId)) continue;
      const count = counts.get(name) ?? 0;
      const known = before.get(name) ?? 0;
      if (count < known && this.isOrdered)
        this.#parts.violate(`${known} lines of ${name} were read before, ${count} are left`);
      this.#stored.set(name, Math.max(count, this.#stored.get(name) ?? 0));
    }
  }

  /** Lines in the order in which a client got them. Returns how many there are of each container. */
  read(endpointId: string, views: readonly LineView[], isWhole = false): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    const last = new Map<string, number>();
    let at = 0;
    for (const view of views) {
      if (view.at < at) this.#parts.violate(`the logs of ${endpointId} show ${view.id} after a later line`);
      ({ at } = view);
      const found = this.check(endpointId, view);
      if (!found) continue;
      const { name, number } = found;
      this.checkOrder(name, last.get(name) ?? -1, number, isWhole);
      last.set(name, number);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return counts;
  }

  /** The line comes after another one of its container, and after the one that is next to it. */
  checkOrder(name: string, before: number, number: number, isGapless: boolean): void {
    if (!this.isOrdered) return;
    if (number <= before) this.#parts.violate(`line ${number} of ${name} is shown after ${before}`);
    else if (isGapless && number !== before + 1)
      this.#parts.violate(`line ${number} of ${name} is shown after ${before}, without those between`);
  }

  /** Which line of a container it is; undefined for one of its agent. */
  check(endpointId: string, view: LineView): { readonly name: string; readonly number: number } | undefined {
    this.#checkSame(endpointId, view);
    if (view.source !== "container") return undefined;
    const [, name = "", digits] = MARK.exec(view.line) ?? [];
    const printed = this.#printed.get(name);
    const line = printed?.output.lines[Number(digits)];
    if (!printed || !line) {
      this.#parts.violate(`nobody has printed "${view.line.slice(0, 80)}" of ${endpointId}`);
      return undefined;
    }
    for (const mistake of mistakesOf(endpointId, view, printed, line))
      this.#parts.violate(`line ${line.number} of ${name} is shown ${mistake}`);
    return { name, number: line.number };
  }

  /** What a client has read stays as it is. */
  #checkSame(endpointId: string, { id, source, line }: LineView): void {
    if (!this.isOrdered) return;
    const shown = this.#shown.get(endpointId) ?? new Map<string, string>();
    this.#shown.set(endpointId, shown);
    const text = `${source} ${line}`;
    const before = shown.get(id);
    shown.set(id, text);
    if (before !== undefined && before !== text)
      this.#parts.violate(
        `the line ${id} of ${endpointId} was "${before.slice(0, 80)}", and is "${text.slice(0, 80)}"`,
      );
  }

  // What has to be shown

  /** After a history: all that was printed long enough before is stored. */
  checkEnd(): void {
    const { world, accounts, violate } = this.#parts;
    for (const [name, { output, spec }] of this.#printed) {
      const isRead = accountWith(accounts, spec.endpointId) !== undefined;
      if (!isRead || output.isLost || !this.isOrdered) continue;
      const due = output.lines.filter(({ at }) => at < world.elapsedMs - SHIPPED_MS).length;
      const stored = this.#stored.get(name) ?? 0;
      if (stored < due)
        violate(`${stored} lines of ${name} in ${spec.workerId} are stored; it has printed ${due}`);
    }
  }

  /** A client that has followed from the begin has them all, but those of the last moments. */
  checkFollowed(endpointId: string, last: ReadonlyMap<string, number>, lateMs: number): void {
    const { world, violate } = this.#parts;
    if (!this.isOrdered) return;
    for (const [name, { output, spec }] of this.#printed) {
      if (spec.endpointId !== endpointId || output.isLost) continue;
      const due = output.lines.filter(({ at }) => at < world.elapsedMs - lateMs).length;
      const followed = (last.get(name) ?? -1) + 1;
      if (followed < due) violate(`a follower has ${followed} lines of ${name}, which has printed ${due}`);
    }
  }
}

function* mistakesOf(
  endpointId: string,
  view: LineView,
  { spec, token }: Printed,
  line: PrintedLine,
): Generator<string> {
  if (spec.endpointId !== endpointId) yield `in the logs of ${endpointId} instead of ${spec.endpointId}`;
  if (spec.workerId !== view.workerId) yield `as of ${view.workerId} instead of ${spec.workerId}`;
  if (view.stream !== line.stream) yield `as of ${view.stream} instead of ${line.stream}`;
  if (view.line !== expectedText(line.text, token)) yield `as "${view.line.slice(0, 120)}"`;
  const isOfOther = line.jobId !== null && view.jobId !== undefined && view.jobId !== line.jobId;
  if (isOfOther) yield `as of the job ${view.jobId} instead of ${line.jobId}`;
  if (line.namesJob && view.jobId === undefined) yield `as of no job, though it names one`;
}

function expectedText(text: string, token: string): string {
  const masked = token === "" ? text : text.replaceAll(token, HIDDEN);
  return masked.length > PIECE_BYTES ? masked.slice(0, PIECE_BYTES) + CUT : masked;
}
