/** The endpoint's wish for workers: sampled, decided in the domain, told to Fleet until it has heard. */
import { IDLE_NOTE_AFTER_MS } from "../contract/limits.ts";
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { FleetReport } from "../domain/queue-reason.ts";
import { delayOf, growWish, releaseWorkers, type Growth, type Load, type Release } from "../domain/scaler.ts";
import type { EndpointFacts } from "./endpoint-facts.ts";
import type { JobStore } from "./job-store.ts";
import type { Slots } from "./messages.ts";
import type { QueueLedger } from "./queue-ledger.ts";
import type { Queue } from "./queue.ts";
import { Roster } from "./roster.ts";
import type { WorkerRooms } from "./worker-rooms.ts";

const TELL_AGAIN_MS = 2_000;

/** The part that Fleet hears is `wanted` and `leaving`. */
type WishFact = {
  readonly wanted: number;
  readonly leaving: readonly string[];
  readonly grownAt: number;
  readonly jobsPerWorker: number;
  readonly isTold: boolean;
};

/** Since when workers are free, for an object that forgets it; true as long as the ledger has the same mark. */
type IdleNote = {
  readonly mark: string;
  readonly idleSinceAt: number | null;
  readonly freeSince: readonly (readonly [workerId: string, at: number])[];
};

export type ScalingParts = {
  readonly store: JobStore;
  readonly ledger: QueueLedger;
  readonly queue: Pick<Queue, "waitingSince">;
  readonly facts: EndpointFacts;
  readonly rooms: WorkerRooms;
};

/** Workers that get no more jobs from now on, and whether some get jobs again that did not. */
export type Doors = { readonly closed: readonly string[]; readonly hasReopened: boolean };

export class Scaling {
  readonly #parts: ScalingParts;
  readonly #roster = new Roster();
  #wish: WishFact = { wanted: 0, leaving: [], grownAt: 0, jobsPerWorker: 1, isTold: true };
  #draining: ReadonlySet<string> = new Set();
  /** Workers that get no more jobs: those that leave, and those that will. */
  #closed: ReadonlySet<string> = new Set();
  /** Since when the oldest normal job waits, or an earlier time; null when none waits. */
  #waitingSince: number | null = 0;
  #idleSinceAt: number | null = null;
  #leftAt = 0;
  /** The latest clock that a note holds. */
  #notedUntil = 0;
  #seen: { readonly report: FleetReport; readonly version: number } | null = null;
  #reviewAt: number | null = null;
  #isTelling = false;

  constructor(parts: ScalingParts) {
    this.#parts = parts;
  }

  recover(now: number): void {
    const { store, ledger, facts, rooms } = this.#parts;
    this.#wish = { ...this.#wish, ...store.readFact<WishFact>("wish") };
    rooms.recover(this.#wish.jobsPerWorker);
    this.#closed = new Set(this.#wish.leaving);
    if (facts.config) this.#follow(facts.config, now);
    this.#idleSinceAt = now;
    const note = store.readFact<IdleNote>("idle");
    if (note?.mark !== ledger.mark) return;
    this.#roster.restore(note.freeSince);
    this.#idleSinceAt = note.idleSinceAt ?? now;
    this.#notedUntil = Math.max(note.idleSinceAt ?? 0, ...note.freeSince.map(([, at]) => at));
  }

  /** Decides anew; to be called at the end of every turn. */
  decide(config: EndpointConfig, now: number): Doors {
    const { ledger } = this.#parts;
    this.#follow(config, now);
    this.#roster.freed(ledger.takeFreed(), now);
    this.#idleSinceAt = ledger.running.size + ledger.queued === 0 ? (this.#idleSinceAt ?? now) : null;

    const growth = growWish(this.#load(config, now), this.#wish, config, now);
    const release = this.#release(growth, config, now);
    this.#reviewAt = this.#noteIdle(earliest(growth.reviewAt, release.reviewAt), config, now);
    this.#adopt(release, now);
    return this.#close(release);
  }

  /** The slots of workers that still get jobs. */
  openTo(slots: Slots): Slots {
    return this.#closed.size === 0 ? slots : slots.filter(({ workerId }) => !this.#closed.has(workerId));
  }

  /** Fleet must hear the wish again, because the configuration that travels with it changed. */
  repeat(): void {
    this.#save({ ...this.#wish, isTold: false });
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
  async tell(send: (wish: Pick<WishFact, "wanted" | "leaving">) => Promise<void>): Promise<void> {
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
    const { report } = this.#parts.facts;
    if (this.#seen?.report === report && this.#seen.version === version) return;
    this.#seen = { report, version };
    this.#roster.learn(report, { version, leaving: new Set(this.#wish.leaving) }, now);
    this.#parts.rooms.keepOnly(new Set(report.workers.map(({ workerId }) => workerId)));
  }

  #load(config: EndpointConfig, now: number): Load {
    const { ledger, rooms } = this.#parts;
    return {
      normalQueued: ledger.counts.queued.normal,
      normalRunning: ledger.runningIn.normal,
      running: ledger.running.size,
      oldestQueuedAt: this.#oldestQueuedAt(config, now),
      jobsPerWorker: rooms.jobsPerWorker,
    };
  }

  /** Rows are asked only when the time known so far would make the wish grow: jobs wait in their order. */
  #oldestQueuedAt(config: EndpointConfig, now: number): number | null {
    const { ledger, queue } = this.#parts;
    if (ledger.counts.queued.normal === 0) return (this.#waitingSince = null);
    this.#waitingSince ??= now;
    const isGrowing = config.scalerType === "QUEUE_DELAY" && this.#wish.wanted < config.workersMax;
    if (isGrowing && now >= Math.max(this.#waitingSince, this.#wish.grownAt) + delayOf(config)) {
      this.#waitingSince = queue.waitingSince("normal") ?? now;
    }
    return this.#waitingSince;
  }

  #release({ wanted, floor }: Growth, config: EndpointConfig, now: number): Release {
    const { ledger } = this.#parts;
    const isWaitedFor = ledger.queued > 0;
    const isSurplus = this.#roster.size > config.workersMax;
    if (!isSurplus && (isWaitedFor || Math.max(wanted, this.#roster.size) <= floor)) {
      return { wanted, leaving: NOBODY, draining: NOBODY, reviewAt: null };
    }
    const workers = this.#roster.sample(ledger.busy, this.#draining);
    const crew = {
      workers,
      wanted,
      floor,
      isWaitedFor,
      idleSinceAt: this.#idleSinceAt,
      leftAt: this.#leftAt,
    };
    return releaseWorkers(crew, config, now);
  }

  // Applying

  #adopt({ wanted, leaving }: Release, now: number): void {
    const { jobsPerWorker } = this.#parts.rooms;
    if (wanted === this.#wish.wanted && leaving.length === 0) {
      // Less than was known is no news: a new worker often begins with one job at a time.
      if (jobsPerWorker > this.#wish.jobsPerWorker) this.#save({ ...this.#wish, jobsPerWorker });
      return;
    }
    const known = new Set(this.#parts.facts.report.workers.map(({ workerId }) => workerId));
    this.#save({
      wanted,
      // Whom Fleet still lists may be shown as ready again by an agent that has not heard of it.
      leaving: [...this.#wish.leaving.filter((workerId) => known.has(workerId)), ...leaving],
      grownAt: wanted > this.#wish.wanted ? now : this.#wish.grownAt,
      jobsPerWorker,
      isTold: false,
    });
    if (leaving.length === 0) return;
    this.#leftAt = now;
    this.#seen = null;
  }

  #close({ leaving, draining }: Release): Doors {
    if (leaving.length + draining.length + this.#draining.size === 0) return UNCHANGED;
    const before = this.#closed;
    const wasDraining = this.#draining;
    this.#draining = new Set(draining);
    this.#closed = new Set([...this.#wish.leaving, ...draining]);
    return {
      closed: [...this.#closed].filter((workerId) => !before.has(workerId)),
      hasReopened: [...wasDraining].some((workerId) => !this.#closed.has(workerId)),
    };
  }

  /**
   * A timeout that outlasts the object's memory needs a note, which is written once no job has ended for a while;
   * returns when to look again.
   */
  #noteIdle(reviewAt: number | null, config: EndpointConfig, now: number): number | null {
    if (reviewAt === null || config.idleTimeoutSeconds * 1_000 <= IDLE_NOTE_AFTER_MS) return reviewAt;
    const { ledger, store } = this.#parts;
    const freeSince = [...this.#roster.clocks].filter(([workerId]) => !ledger.busy.has(workerId));
    const changedAt = Math.max(this.#idleSinceAt ?? 0, ...freeSince.map(([, at]) => at));
    if (changedAt <= this.#notedUntil) return reviewAt;
    if (now < changedAt + IDLE_NOTE_AFTER_MS) return Math.min(reviewAt, changedAt + IDLE_NOTE_AFTER_MS);
    const note: IdleNote = { mark: ledger.mark, idleSinceAt: this.#idleSinceAt, freeSince };
    store.writeFact("idle", note);
    this.#notedUntil = changedAt;
    return reviewAt;
  }

  #save(wish: WishFact): void {
    this.#wish = wish;
    this.#parts.store.writeFact("wish", wish);
  }
}

const NOBODY: readonly string[] = [];
const UNCHANGED: Doors = { closed: NOBODY, hasReopened: false };

function earliest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
