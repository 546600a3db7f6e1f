/** The endpoint's wish for workers: sampled, decided in the domain, told to Fleet until it has heard. */
import { IDLE_NOTE_AFTER_MS } from "../contract/limits.ts";
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { FleetReport } from "../domain/queue-reason.ts";
import type { RollMember, RollPlan } from "../domain/release.ts";
import { stintOf, workersIn } from "../domain/standby.ts";
import { delayOf, growWish, releaseWorkers, type Growth, type Load, type Release } from "../domain/scaler.ts";
import type { EndpointFacts } from "./endpoint-facts.ts";
import { IdleNote } from "./idle-note.ts";
import type { JobStore } from "./job-store.ts";
import type { QueueLedger } from "./queue-ledger.ts";
import type { Queue } from "./queue.ts";
import type { Rollout } from "./rollout.ts";
import { Roster } from "./roster.ts";
import type { WorkerRooms } from "./worker-rooms.ts";
import type { Workload } from "./workload.ts";

const TELL_AGAIN_MS = 2_000;

/** What Fleet hears; `leaving` and `resume` are stints of workers. */
export type WishedWorkers = {
  readonly wanted: number;
  readonly leaving: readonly string[];
  /** Absent in what was stored before. */
  readonly resume?: readonly string[];
};

type WishFact = WishedWorkers & {
  readonly grownAt: number;
  readonly jobsPerWorker: number;
  readonly isTold: boolean;
};

export type ScalingParts = {
  readonly store: JobStore;
  readonly ledger: Pick<QueueLedger, "idle" | "noteIdle">;
  readonly work: Workload;
  readonly queue: Pick<Queue, "waitingSince">;
  readonly facts: EndpointFacts;
  readonly rooms: WorkerRooms;
  readonly rollout: Rollout;
};

/** Workers that get no more jobs from now on, and whether some get jobs again that did not. */
export type Doors = { readonly closed: readonly string[]; readonly hasReopened: boolean };

/**
 * ready: it takes requests. coming: it does not yet, or not for now. leaving: it takes no more, and is on standby or
 * gone soon. standby: it was let go, and can be resumed. gone: it is none of the endpoint, as far as Fleet has said.
 */
export type Standing = "ready" | "coming" | "leaving" | "standby" | "gone";

export class Scaling {
  readonly #parts: ScalingParts;
  readonly #roster = new Roster();
  readonly #note: IdleNote;
  #wish: WishFact = { wanted: 0, leaving: [], grownAt: 0, jobsPerWorker: 1, isTold: true };
  /** Workers that get no more jobs and go after those they have. */
  #draining: ReadonlySet<string> = new Set();
  /** Workers that get no jobs for now, and may get some again. */
  #shut: ReadonlySet<string> = new Set();
  /** Workers that get no jobs: those that leave, those that will, and those that are held. */
  #closed: ReadonlySet<string> = new Set();
  /** So many of these leave as soon as they have no job. */
  #either: RollPlan["either"] = NO_CHOICE;
  #doors = 0;
  /** Since when the oldest normal job waits, or an earlier time; null when none waits. */
  #waitingSince: number | null = 0;
  #idleSinceAt: number | null = null;
  #leftAt = 0;
  #seen: { readonly report: FleetReport; readonly version: number } | null = null;
  #reviewAt: number | null = null;
  /** Workers were sent away since the roster was last brought up to date. */
  #hasLeft = false;
  #isTelling = false;
  /** Fleet has said something new of the workers, some of which may have been revived. */
  #hasNews = false;

  constructor(parts: ScalingParts) {
    this.#parts = parts;
    this.#note = new IdleNote(parts);
  }

  recover(now: number): void {
    const { store, facts, rooms } = this.#parts;
    this.#wish = { ...this.#wish, ...store.readFact<WishFact>("wish") };
    rooms.recover(this.#wish.jobsPerWorker);
    this.#closed = new Set(workersIn(this.#wish.leaving, facts.report.workers));
    this.#parts.rollout.recover();
    if (facts.config) this.#follow(facts.config, now);
    if (facts.config) this.#shutAgain(facts.config, now);
    const note = this.#note.recover();
    this.#idleSinceAt = note?.idleSinceAt ?? now;
    this.#roster.restore(note?.freeSince ?? []);
  }

  /** Decides anew; to be called at the end of every turn. */
  decide(config: EndpointConfig, now: number): Doors {
    const { work } = this.#parts;
    this.#follow(config, now);
    this.#note.follow();
    this.#roster.freed(work.takeFreed(), now);
    this.#idleSinceAt = work.isNone ? (this.#idleSinceAt ?? now) : null;

    const growth = growWish(this.#load(config, now), this.#wish, config, now);
    const roll = this.#roll(growth.wanted, this.#isRoomComing(), config, now);
    const release = this.#release(growth, roll?.rest, config, now);
    const reviewAt = earliest(growth.reviewAt, release.reviewAt);
    this.#reviewAt = earliest(this.#noteIdle(reviewAt, config, now), roll?.reviewAt ?? null);
    this.#adopt(release, roll?.leaving ?? NOBODY, now);
    return this.#close(release, roll);
  }

  /** The slots of workers that still get jobs, or requests. */
  openTo<Slot extends { readonly workerId: string }>(slots: readonly Slot[]): readonly Slot[] {
    if (this.#closed.size === 0) return slots;
    const { busy } = this.#parts.work;
    let leaving = this.#either.count;
    return slots.filter(({ workerId }) => {
      if (this.#closed.has(workerId)) return false;
      return busy.has(workerId) || !this.#either.among.has(workerId) || (leaving -= 1) < 0;
    });
  }

  /** Differs when workers get jobs again that did not. */
  get doors(): string {
    return `${this.#doors}`;
  }

  /** Fleet must hear the wish again, because the configuration that travels with it changed. */
  repeat(): void {
    this.#save({ ...this.#wish, isTold: false });
  }

  /** What a request may expect that asks for this very worker. */
  standingOf(workerId: string): Standing {
    const worker = this.#parts.facts.report.workers.find((one) => one.workerId === workerId);
    if (!worker || worker.state === "stopping") return "gone";
    if (worker.state === "standby") return "standby";
    const isHeld = this.#shut.has(workerId) && !this.#draining.has(workerId);
    if (this.#closed.has(workerId) && !isHeld) return "leaving";
    return worker.state === "ready" && !isHeld ? "ready" : "coming";
  }

  /** To be called in a turn: this worker, if it is on standby, shall run again, as workersMax allows. */
  resume(workerId: string): void {
    const { workers } = this.#parts.facts.report;
    const worker = workers.find((one) => one.workerId === workerId);
    if (worker?.state !== "standby") return;
    const resume = this.#wish.resume ?? NOBODY;
    const stint = stintOf(worker);
    if (resume.includes(stint)) return;
    const kept = resume.filter((other) => workersIn([other], workers).length > 0);
    this.#save({ ...this.#wish, resume: [...kept, stint], isTold: false });
  }

  get wanted(): number {
    return this.#wish.wanted;
  }

  get isUntold(): boolean {
    return !this.#wish.isTold;
  }

  /** When to decide or to tell again though nothing happens; null for never. */
  nextAt(now: number): number | null {
    if (!this.#wish.isTold) return now + TELL_AGAIN_MS;
    return this.#reviewAt;
  }

  /** Tells Fleet, again and again while the wish changes on the way; a failure is left to the alarm. */
  async tell(send: (wish: WishedWorkers) => Promise<void>): Promise<void> {
    if (this.#isTelling) return;
    this.#isTelling = true;
    try {
      while (!this.#wish.isTold) {
        const told = this.#wish;
        await send(told);
        if (this.#wish === told) this.#save({ ...told, isTold: true });
      }
    } catch {
      // Fleet is unreachable at the moment; the alarm brings us back.
    } finally {
      this.#isTelling = false;
    }
  }

  // Sampling

  /** Looks at the workers anew when Fleet or the configuration says something else of them. */
  #follow({ version }: EndpointConfig, now: number): void {
    const { facts, work, rollout } = this.#parts;
    const { report } = facts;
    if (this.#seen?.report === report && this.#seen.version === version && !this.#hasLeft) return;
    if (this.#seen && this.#seen.version !== version) {
      rollout.begin(work.isNone, now);
    }
    this.#seen = { report, version };
    this.#hasLeft = false;
    this.#hasNews = this.#wish.leaving.length > 0;
    this.#roster.learn(report, { version, leaving: new Set(this.#wish.leaving) }, now);
    this.#parts.rooms.keepOnly(new Set(report.workers.map(({ workerId }) => workerId)));
  }

  #load(config: EndpointConfig, now: number): Load {
    const { work, rooms } = this.#parts;
    const { waiting, running } = work.normal;
    return {
      normalQueued: waiting,
      normalRunning: running,
      running: work.running,
      oldestQueuedAt: this.#oldestQueuedAt(config, now),
      jobsPerWorker: rooms.jobsPerWorker,
    };
  }

  /** Rows are asked only when the time known so far would make the wish grow: jobs wait in their order. */
  #oldestQueuedAt(config: EndpointConfig, now: number): number | null {
    const { work, queue } = this.#parts;
    if (work.normal.waiting === 0) return (this.#waitingSince = null);
    this.#waitingSince ??= now;
    const isGrowing = config.scalerType === "QUEUE_DELAY" && this.#wish.wanted < config.workersMax;
    if (isGrowing && now >= Math.max(this.#waitingSince, this.#wish.grownAt) + delayOf(config)) {
      this.#waitingSince = queue.waitingSince("normal") ?? now;
    }
    return this.#waitingSince;
  }

  /** What a rolling release asks for; undefined while there is none. */
  #roll(wanted: number, isRoomComing: boolean, config: EndpointConfig, now: number) {
    if (!this.#roster.hasOutdated) return undefined;
    const { work, facts, rollout } = this.#parts;
    const { report } = facts;
    const workers = this.#roster.sample(work.busy, this.#draining);
    return rollout.step({ workers, report, wanted, isRoomComing }, config, now);
  }

  /** A worker that was sent away is still there; one on standby takes no room. */
  #isRoomComing(): boolean {
    const sent = new Set(this.#wish.leaving);
    const { workers } = this.#parts.facts.report;
    return workers.some((worker) => worker.state !== "standby" && sent.has(stintOf(worker)));
  }

  /** The first turn after a loss of memory shall give no job to whom the last one gave none. */
  #shutAgain(config: EndpointConfig, now: number): void {
    const { wanted } = this.#wish;
    this.#close(NO_RELEASE, this.#roll(wanted, true, config, now));
  }

  #release(
    { wanted, floor }: Growth,
    crew: readonly RollMember[] | undefined,
    config: EndpointConfig,
    now: number,
  ): Release {
    const { work } = this.#parts;
    const isWaitedFor = work.waiting > 0;
    const size = crew?.length ?? this.#roster.size;
    if (size <= config.workersMax && (isWaitedFor || Math.max(wanted, size) <= floor)) {
      return { wanted, leaving: NOBODY, draining: NOBODY, reviewAt: null };
    }
    const workers = crew ?? this.#roster.sample(work.busy, this.#draining);
    const clocks = { idleSinceAt: this.#idleSinceAt, leftAt: this.#leftAt };
    return releaseWorkers({ workers, wanted, floor, isWaitedFor, ...clocks }, config, now);
  }

  // Applying

  #adopt({ wanted, leaving: spare }: Release, outdated: readonly string[], now: number): void {
    const { jobsPerWorker } = this.#parts.rooms;
    const leaving = [...outdated, ...spare];
    if (wanted === this.#wish.wanted && leaving.length === 0) {
      // Less than was known is no news: a new worker often begins with one job at a time.
      if (jobsPerWorker > this.#wish.jobsPerWorker) this.#save({ ...this.#wish, jobsPerWorker });
      return;
    }
    const { workers } = this.#parts.facts.report;
    const stints = new Map(workers.map((worker) => [worker.workerId, stintOf(worker)]));
    const known = new Set(stints.values());
    this.#save({
      ...this.#wish,
      wanted,
      // Whom Fleet still lists may be shown as ready again by an agent that has not heard of it.
      leaving: [
        ...this.#wish.leaving.filter((stint) => known.has(stint)),
        ...leaving.map((workerId) => stints.get(workerId) ?? workerId),
      ],
      grownAt: wanted > this.#wish.wanted ? now : this.#wish.grownAt,
      jobsPerWorker,
      isTold: false,
    });
    if (spare.length > 0) this.#leftAt = now;
    if (leaving.length > 0) this.#hasLeft = true;
  }

  #close({ leaving, draining }: Pick<Release, "leaving" | "draining">, roll: RollPlan | undefined): Doors {
    this.#either = roll?.either ?? NO_CHOICE;
    const isAsBefore = !roll && leaving.length + draining.length + this.#shut.size === 0;
    if (isAsBefore && !this.#hasNews) return UNCHANGED;
    this.#hasNews = false;
    const before = this.#closed;
    this.#draining = new Set([...draining, ...(roll?.draining ?? NOBODY)]);
    this.#shut = new Set([...this.#draining, ...(roll?.held ?? NOBODY)]);
    const left = workersIn(this.#wish.leaving, this.#parts.facts.report.workers);
    this.#closed = new Set([...left, ...this.#shut]);
    const hasReopened = [...before].some(
      (workerId) => !this.#closed.has(workerId) && this.#roster.has(workerId),
    );
    if (hasReopened) this.#doors += 1;
    return { closed: [...this.#closed].filter((workerId) => !before.has(workerId)), hasReopened };
  }

  /** Sees to the note of the clocks; returns when to look again. */
  #noteIdle(reviewAt: number | null, { idleTimeoutSeconds }: EndpointConfig, now: number): number | null {
    if (reviewAt === null || idleTimeoutSeconds * 1_000 <= IDLE_NOTE_AFTER_MS) return reviewAt;
    const clocks = { idleSinceAt: this.#idleSinceAt, freeSince: [...this.#roster.clocks] };
    return earliest(reviewAt, this.#note.keep(clocks, now));
  }

  #save(wish: WishFact): void {
    this.#wish = wish;
    this.#parts.store.writeFact("wish", wish);
  }
}

const NOBODY: readonly string[] = [];
const NO_CHOICE: RollPlan["either"] = { count: 0, among: new Set() };
const NO_RELEASE = { leaving: NOBODY, draining: NOBODY };
const UNCHANGED: Doors = { closed: NOBODY, hasReopened: false };

function earliest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
