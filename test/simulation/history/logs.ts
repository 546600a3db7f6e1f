/** What containers have printed, and whether what clients read of it can be true. */
import type { WorkerSpec } from "../../../node-agent/runtime/interface/runtime.ts";
import { PrintedOutput } from "../host/printed-output.ts";
import type { World } from "../world/world.ts";
import { type Account, accountWith } from "./account.ts";
import { type LineView, mistakesOf, mistakesOfPod, type Printed } from "./log-lines.ts";
import { LogLosses } from "./log-losses.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

export type LogsParts = {
  readonly world: World;
  readonly accounts: readonly Account[];
  readonly plan: HistoryPlan;
  readonly violate: (what: string) => void;
};

const MARK = /<(c\d+)\.(\d+)> /;
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
  readonly #losses: LogLosses;
  /** No two lines have the same time, and later ones have later times. */
  readonly isOrdered: boolean;

  constructor(parts: LogsParts) {
    this.#parts = parts;
    this.#losses = new LogLosses(parts.plan);
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
    if (workerId === undefined) this.#losses.readWhole(views);
    this.#compare(
      counts,
      before,
      ({ spec }) => spec.endpointId === endpointId && (workerId ?? spec.workerId) === spec.workerId,
    );
  }

  /** All lines that the edge has of a pod, as its owner gets them: the bare texts. */
  readPod(podId: string, texts: readonly string[], before: ReadonlyMap<string, number>): void {
    const counts = new Map<string, number>();
    for (const text of texts) {
      const found = this.#find(podId, text);
      if (!found) continue;
      const { name, printed, line } = found;
      for (const mistake of mistakesOfPod(podId, text, printed, line))
        this.#parts.violate(`line ${line.number} of ${name} is shown ${mistake}`);
      this.checkOrder(name, (counts.get(name) ?? 0) - 1, line.number, true);
      counts.set(name, line.number + 1);
    }
    this.#compare(counts, before, ({ spec }) => spec.workerId === podId);
  }

  /** A whole reading has what an earlier one had. */
  #compare(
    counts: ReadonlyMap<string, number>,
    before: ReadonlyMap<string, number>,
    isMeant: (printed: Printed) => boolean,
  ): void {
    for (const [name, printed] of this.#printed) {
      if (!isMeant(printed)) continue;
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

  /** The line comes after another one of its container, and after the one that is next to it if all may be shown. */
  checkOrder(name: string, before: number, number: number, isGapless: boolean): void {
    if (!this.isOrdered) return;
    if (number <= before) this.#parts.violate(`line ${number} of ${name} is shown after ${before}`);
    else if (isGapless && number !== before + 1 && !this.#printed.get(name)?.output.isFlooded)
      this.#parts.violate(`line ${number} of ${name} is shown after ${before}, without those between`);
  }

  /** Which line of a container it is; undefined for one of its agent. */
  check(endpointId: string, view: LineView): { readonly name: string; readonly number: number } | undefined {
    this.#checkSame(endpointId, view);
    if (view.source !== "container") return undefined;
    const found = this.#find(endpointId, view.line);
    if (!found) return undefined;
    const { name, printed, line } = found;
    for (const mistake of mistakesOf(endpointId, view, printed, line))
      this.#parts.violate(`line ${line.number} of ${name} is shown ${mistake}`);
    return { name, number: line.number };
  }

  #find(ownerId: string, text: string) {
    const [, name = "", digits] = MARK.exec(text) ?? [];
    const printed = this.#printed.get(name);
    const line = printed?.output.lines[Number(digits)];
    if (printed && line) return { name, printed, line };
    this.#parts.violate(`nobody has printed "${text.slice(0, 80)}" of ${ownerId}`);
    return undefined;
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
    this.#checkStored((printed) => this.#isRead(printed));
    if (this.isOrdered) this.#checkLosses();
  }

  #checkLosses(): void {
    const read = [...this.#printed.values()].filter((printed) => this.#isRead(printed));
    for (const [workerId, all] of Map.groupBy(read, ({ spec }) => spec.workerId)) {
      const outputs = all.map(({ output }) => output);
      if (!outputs.some(({ isFlooded }) => isFlooded) || outputs.some(({ isLost }) => isLost)) continue;
      for (const mistake of this.#losses.mistakesOf(workerId, outputs, this.#dueMs))
        this.#parts.violate(mistake);
    }
  }

  #isRead({ spec }: Printed): boolean {
    return accountWith(this.#parts.accounts, spec.endpointId) !== undefined;
  }

  /** The same of a pod, while there is one. */
  checkPod(podId: string): void {
    this.#checkStored(({ spec }) => spec.workerId === podId);
  }

  /** What was printed until then is stored, ms of the history. */
  get #dueMs(): number {
    return this.#parts.world.elapsedMs - SHIPPED_MS;
  }

  #checkStored(isMeant: (printed: Printed) => boolean): void {
    for (const [name, printed] of this.#printed) {
      const { output, spec } = printed;
      if (!isMeant(printed) || output.isLost || output.isFlooded || !this.isOrdered) continue;
      const due = output.lines.filter(({ at }) => at < this.#dueMs).length;
      const stored = this.#stored.get(name) ?? 0;
      if (stored < due)
        this.#parts.violate(
          `${stored} lines of ${name} in ${spec.workerId} are stored; it has printed ${due}`,
        );
    }
  }

  /** A client that has followed from the begin has them all, but those of the last moments. */
  checkFollowed(endpointId: string, last: ReadonlyMap<string, number>, lateMs: number): void {
    const { world, violate } = this.#parts;
    if (!this.isOrdered) return;
    for (const [name, { output, spec }] of this.#printed) {
      if (spec.endpointId !== endpointId || output.isLost || output.isFlooded) continue;
      const due = output.lines.filter(({ at }) => at < world.elapsedMs - lateMs).length;
      const followed = (last.get(name) ?? -1) + 1;
      if (followed < due) violate(`a follower has ${followed} lines of ${name}, which has printed ${due}`);
    }
  }
}
