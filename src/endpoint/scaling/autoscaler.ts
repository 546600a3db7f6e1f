/** The desired workers of an endpoint: load sampled, decided in the domain, sent to Fleet until it has arrived. */
import { IDLE_STORE_AFTER_MS, IdleTracker } from "./idle-tracker.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import type { RolloutWorker, RolloutPlan } from "../../domain/rollouts/rollout-plan.ts";
import type { CapacityStatement, DesiredWorkersUpdate } from "../../durable/ports.ts";
import { epochOf, workersIn } from "../../domain/placement/standby.ts";
import {
  scaleUpDelayMs,
  planScaleUp,
  planScaleDown,
  type ScaleUp,
  type Load,
  type ScaleDown,
} from "../../domain/scaling/scaling-plan.ts";
import { earliest } from "../../std/earliest.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import type { Fact } from "../facts/fact-store.ts";
import type { QueueLedger } from "../queue/queue-ledger.ts";
import type { CanaryWatch } from "./canary-watch.ts";
import { CapacityStatements } from "./capacity-statements.ts";
import type { Rollout } from "./rollout.ts";
import type { Trial } from "./trial.ts";
import { WorkerSet, type WorkerConcurrency } from "./worker-set.ts";
import type { Workload } from "./workload.ts";

const RESEND_AFTER_MS = 2_000;

/** What is sent to Fleet; `leaving` and `resume` are epochs of workers. */
export type DesiredWorkers = {
  readonly desired: number;
  readonly leaving: readonly string[];
  /** Absent in old stored states. */
  readonly resume?: readonly string[];
};

export type DesiredState = DesiredWorkers & {
  readonly grownAt: number;
  readonly jobsPerWorker: number;
  readonly isSent: boolean;
};

export type AutoscalerParts = {
  readonly stored: Fact<DesiredState>;
  readonly ledger: Pick<QueueLedger, "idle" | "storeIdle">;
  readonly work: Workload;
  readonly facts: EndpointFacts;
  readonly concurrency: WorkerConcurrency;
  readonly rollout: Rollout;
  readonly canary: Pick<CanaryWatch, "recover" | "decide" | "isAhead" | "nextAt">;
  readonly trial: Pick<Trial, "recover" | "limitsOf" | "endsAt">;
};

/** Workers that get no more jobs from now on, and whether others get jobs again. */
export type AdmissionChange = { readonly closed: readonly string[]; readonly hasReopened: boolean };

/**
 * ready: takes requests. coming: does not yet, or not for now. leaving: takes no more, and soon is on standby or gone.
 * standby: paused, and can be resumed. gone: not, or no longer, assigned to this endpoint as far as Fleet has reported.
 */
export type WorkerAvailability = "ready" | "coming" | "leaving" | "standby" | "gone";

export class Autoscaler {
  readonly #parts: AutoscalerParts;
  readonly #workerSet = new WorkerSet();
  readonly #idleTracker: IdleTracker;
  /** What Fleet must know while capacity is short. */
  readonly statements = new CapacityStatements();
  #desired: DesiredState = { desired: 0, leaving: [], grownAt: 0, jobsPerWorker: 1, isSent: true };
  /** Workers that get no more jobs and leave after those they have. */
  #draining: ReadonlySet<string> = new Set();
  /** Workers that get no jobs for now, and may get some again. */
  #withheld: ReadonlySet<string> = new Set();
  /** Workers that get no jobs: those that leave, those that will, and those held back. */
  #closed: ReadonlySet<string> = new Set();
  /** A number of these workers leave as soon as they have no job. */
  #either: RolloutPlan["either"] = NO_CHOICE;
  #reopenings = 0;
  /** Since when the oldest normal job has been queued, or an earlier time; null when none is. */
  #waitingSince: number | null = 0;
  #idleSinceAt: number | null = null;
  #leftAt = 0;
  #seen: { readonly report: FleetReport; readonly version: number } | null = null;
  #reviewAt: number | null = null;
  /** Workers were instructed to leave since the worker set was last updated. */
  #hasLeft = false;
  #isSending = false;
  /** Fleet has reported, and some workers may have been resumed. */
  #hasNews = false;

  constructor(parts: AutoscalerParts) {
    this.#parts = parts;
    this.#idleTracker = new IdleTracker(parts);
  }

  recover(now: number): void {
    const { stored: state, facts, concurrency } = this.#parts;
    this.#desired = { ...this.#desired, ...state.read() };
    concurrency.recover(this.#desired.jobsPerWorker);
    this.#closed = new Set(workersIn(this.#desired.leaving, facts.report.workers));
    this.#parts.rollout.recover();
    this.#parts.canary.recover();
    this.#parts.trial.recover();
    if (facts.config) {
      this.#follow(facts.config, now);
      this.#holdAgain(facts.config, now);
    }
    const stored = this.#idleTracker.recover();
    this.#idleSinceAt = stored?.idleSinceAt ?? now;
    this.#workerSet.restore(stored?.freeSince ?? []);
  }

  /** Decides on the desired workers; to be called at the end of every turn. */
  decide(configured: EndpointConfig, now: number): AdmissionChange {
    const { work, trial } = this.#parts;
    const config = this.#judgeCanary(now) ?? configured;
    this.#follow(config, now);
    this.#idleTracker.follow();
    this.#workerSet.freed(work.takeFreed(), now);
    this.#workerSet.restore(work.takeReturned());
    this.#idleSinceAt = work.isNone ? (this.#idleSinceAt ?? now) : null;

    const growth = planScaleUp(this.#load(config, now), this.#desired, trial.limitsOf(config, now), now);
    const rolling = this.#planRollout(growth.desired, this.#isCapacityComing(), config, now);
    const scaleDown = this.#planScaleDown(growth, rolling?.rest, config, now);
    const canaryAt = this.#parts.canary.nextAt(now);
    const reviewAt = earliest([growth.reviewAt, scaleDown.reviewAt, trial.endsAt(now), canaryAt]);
    this.#reviewAt = earliest([this.#storeIdle(reviewAt, config, now), rolling?.reviewAt ?? null]);
    const replaced = this.#replaced();
    this.#adopt(scaleDown, [...(rolling?.leaving ?? NONE), ...replaced.leaving], now);
    const change = this.#close(togetherOf(scaleDown, replaced), rolling);
    this.statements.update(this.#stateCapacity(growth.floor, config, now));
    return change;
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

  /** Changes when workers get jobs again that did not. */
  get admissionVersion(): string {
    return `${this.#reopenings}`;
  }

  /** Sends the desired workers again, because the configuration that travels with them changed. */
  repeat(): void {
    this.#save({ ...this.#desired, isSent: false });
  }

  /** What a request may expect that asks for this worker. */
  availabilityOf(workerId: string): WorkerAvailability {
    const worker = this.#parts.facts.report.workers.find((one) => one.workerId === workerId);
    if (!worker || worker.state === "stopping") return "gone";
    if (worker.state === "standby") return "standby";
    const isHeld = this.#withheld.has(workerId) && !this.#draining.has(workerId);
    if (this.#closed.has(workerId) && !isHeld) return "leaving";
    return worker.state === "ready" && !isHeld ? "ready" : "coming";
  }

  /** To be called in a turn: resumes this worker if it is on standby, as workersMax allows. */
  resume(workerId: string): void {
    const { workers } = this.#parts.facts.report;
    const worker = workers.find((one) => one.workerId === workerId);
    if (worker?.state !== "standby") return;
    const resume = this.#desired.resume ?? NONE;
    const epoch = epochOf(worker);
    if (resume.includes(epoch)) return;
    const kept = resume.filter((other) => workersIn([other], workers).length > 0);
    this.#save({ ...this.#desired, resume: [...kept, epoch], isSent: false });
  }

  get desired(): number {
    return this.#desired.desired;
  }

  /** Whether a worker gets no more jobs, for now or for good. */
  isClosed(workerId: string): boolean {
    return this.#closed.has(workerId);
  }

  /** Since when a ready worker has no work. */
  freeSince(workerId: string): number | undefined {
    return this.#workerSet.idleTimes.get(workerId);
  }

  get isUnsent(): boolean {
    return !this.#desired.isSent;
  }

  /** When to decide or to send again although nothing happens; null for never. */
  nextAt(now: number): number | null {
    const desiredAt = this.#desired.isSent ? this.#reviewAt : now + RESEND_AFTER_MS;
    return earliest([desiredAt, this.statements.nextAt(now)]);
  }

  /** Sends the desired workers to Fleet until what it has is current; after a failure the alarm sends again. */
  async send(send: (update: DesiredWorkersUpdate) => Promise<void>): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      while (!this.#desired.isSent) {
        const sent = this.#desired;
        const { config } = this.#parts.facts; // of this moment: it may have changed during an earlier call
        const { desired, leaving, resume = NONE } = sent;
        if (config) await send({ config, desired, leaving, resume, isRemoved: false });
        if (this.#desired === sent) this.#save({ ...sent, isSent: true });
      }
    } catch {
      // Fleet is unreachable for now; the alarm repeats the call.
    } finally {
      this.#isSending = false;
    }
  }

  /** The configuration after a verdict about a version on trial; undefined where there was none. */
  #judgeCanary(now: number): EndpointConfig | undefined {
    const { canary, rollout, facts } = this.#parts;
    if (!canary.decide(rollout.stall, now)) return undefined;
    this.repeat();
    return facts.config;
  }

  // Sampling

  /** Updates the worker set when Fleet or the configuration has changed it. */
  #follow({ version }: EndpointConfig, now: number): void {
    const { facts, work, rollout } = this.#parts;
    const { report } = facts;
    if (this.#seen?.report === report && this.#seen.version === version && !this.#hasLeft) return;
    if (this.#seen && this.#seen.version !== version) {
      rollout.begin(work.isNone, now);
    }
    this.#seen = { report, version };
    this.#hasLeft = false;
    this.#hasNews = this.#desired.leaving.length > 0;
    this.#workerSet.learn(report, { version, leaving: new Set(this.#desired.leaving) }, now);
    this.#parts.concurrency.keepOnly(new Set(report.workers.map(({ workerId }) => workerId)));
  }

  #load(config: EndpointConfig, now: number): Load {
    const { work, concurrency } = this.#parts;
    const { waiting, running } = work.normal;
    return {
      normalQueued: waiting,
      normalRunning: running,
      running: work.running,
      oldestQueuedAt: this.#oldestQueuedAt(config, now),
      jobsPerWorker: concurrency.jobsPerWorker,
      busyWorkers:
        waiting === 0 ? 0 : this.#workerSet.countBusy(work.busy, this.#draining, config.canary !== undefined),
    };
  }

  /** Rows are read only when the time known so far would scale up, since jobs are claimed in their order. */
  #oldestQueuedAt(config: EndpointConfig, now: number): number | null {
    const { work } = this.#parts;
    if (work.normal.waiting === 0) return (this.#waitingSince = null);
    this.#waitingSince ??= now;
    const isGrowing = config.scalerType === "QUEUE_DELAY" && this.#desired.desired < config.workersMax;
    if (isGrowing && now >= Math.max(this.#waitingSince, this.#desired.grownAt) + scaleUpDelayMs(config)) {
      this.#waitingSince = work.normalWaitingSince() ?? now;
    }
    return this.#waitingSince;
  }

  /** The next step of a rollout; undefined while there is no step to take. */
  #planRollout(desired: number, isCapacityComing: boolean, config: EndpointConfig, now: number) {
    if (!this.#workerSet.hasOutdated && !config.canary) return undefined;
    const { work, facts, rollout, canary } = this.#parts;
    const { report } = facts;
    const workers = this.#workerSet.sample(work.busy, this.#draining);
    return rollout.step(
      { workers, report, desired, isCapacityComing, isAhead: canary.isAhead(work.busy) },
      config,
      now,
    );
  }

  /** A worker that was instructed to leave is still there; a worker on standby uses no GPU. */
  #isCapacityComing(): boolean {
    const sent = new Set(this.#desired.leaving);
    const { workers } = this.#parts.facts.report;
    return workers.some((worker) => worker.state !== "standby" && sent.has(epochOf(worker)));
  }

  /** The first turn after a loss of memory must give no job to a worker to which the last turn gave none. */
  #holdAgain(config: EndpointConfig, now: number): void {
    const { desired } = this.#desired;
    this.#close(this.#replaced(), this.#planRollout(desired, true, config, now));
  }

  /** Workers whose place another endpoint gets after the jobs they have; this one still wants as many as before. */
  #replaced(): Pick<ScaleDown, "leaving" | "draining"> {
    const { work, facts } = this.#parts;
    const { contention, workers } = facts.report;
    if (!contention || contention.afterJobs.length === 0) return NO_SCALE_DOWN;
    const ids = workersIn(contention.afterJobs, workers).filter((workerId) => this.#workerSet.has(workerId));
    const { busy } = work;
    return { leaving: ids.filter((id) => !busy.has(id)), draining: ids.filter((id) => busy.has(id)) };
  }

  /** What others may have, and whether work waits here; null while capacity is not short. */
  #stateCapacity(floor: number, { endpointId }: EndpointConfig, now: number): CapacityStatement | null {
    const { work, facts } = this.#parts;
    const { contention, workers } = facts.report;
    if (!contention) return null;
    const epochs = new Map(workers.map((worker) => [worker.workerId, epochOf(worker)]));
    const free = work.waiting > 0 ? [] : this.#workerSet.sample(work.busy, this.#draining);
    const spare = free
      .filter(({ workerId, jobs }) => jobs === 0 && !this.#closed.has(workerId))
      .toSorted((a, b) => a.freeSinceAt - b.freeSinceAt)
      .slice(0, Math.max(0, this.#workerSet.size - floor))
      .map(
        ({ workerId, freeSinceAt }) =>
          [epochs.get(workerId) ?? workerId, Math.min(freeSinceAt, now)] as const,
      );
    return { endpointId, number: contention.number, isWaiting: work.normal.waiting > 0, spare };
  }

  #planScaleDown(
    { desired, floor }: ScaleUp,
    members: readonly RolloutWorker[] | undefined,
    config: EndpointConfig,
    now: number,
  ): ScaleDown {
    const { work } = this.#parts;
    const isWaitedFor = work.waiting > 0;
    const size = members?.length ?? this.#workerSet.size;
    if (size <= config.workersMax && (isWaitedFor || Math.max(desired, size) <= floor)) {
      return { desired, leaving: NONE, draining: NONE, reviewAt: null };
    }
    const workers = members ?? this.#workerSet.sample(work.busy, this.#draining);
    const idleTimes = { idleSinceAt: this.#idleSinceAt, leftAt: this.#leftAt };
    const { contention, workers: reported } = this.#parts.facts.report;
    const givingWay = new Set(workersIn(contention?.whenFree ?? NONE, reported));
    const sample = { workers, desired, floor, hasWaitingJobs: isWaitedFor, givingWay, ...idleTimes };
    return planScaleDown(sample, config, now);
  }

  // Applying

  #adopt({ desired, leaving: spare }: ScaleDown, outdated: readonly string[], now: number): void {
    const { jobsPerWorker } = this.#parts.concurrency;
    const leaving = [...outdated, ...spare];
    if (desired === this.#desired.desired && leaving.length === 0) {
      // Fewer than known are ignored: a new worker often begins with one job at a time.
      if (jobsPerWorker > this.#desired.jobsPerWorker) this.#save({ ...this.#desired, jobsPerWorker });
      return;
    }
    const { workers } = this.#parts.facts.report;
    const epochs = new Map(workers.map((worker) => [worker.workerId, epochOf(worker)]));
    const known = new Set(epochs.values());
    this.#save({
      ...this.#desired,
      desired,
      // A worker that Fleet still lists may be reported ready by an agent that does not know yet.
      leaving: [
        ...this.#desired.leaving.filter((epoch) => known.has(epoch)),
        ...leaving.map((workerId) => epochs.get(workerId) ?? workerId),
      ],
      grownAt: desired > this.#desired.desired ? now : this.#desired.grownAt,
      jobsPerWorker,
      isSent: false,
    });
    if (spare.length > 0) this.#leftAt = now;
    if (leaving.length > 0) this.#hasLeft = true;
  }

  #close(
    { leaving, draining }: Pick<ScaleDown, "leaving" | "draining">,
    rolling: RolloutPlan | undefined,
  ): AdmissionChange {
    this.#either = rolling?.either ?? NO_CHOICE;
    const isAsBefore = !rolling && leaving.length + draining.length + this.#withheld.size === 0;
    if (isAsBefore && !this.#hasNews) return UNCHANGED;
    this.#hasNews = false;
    const before = this.#closed;
    this.#draining = new Set([...draining, ...(rolling?.draining ?? NONE)]);
    this.#withheld = new Set([...this.#draining, ...(rolling?.onHold ?? NONE)]);
    const left = workersIn(this.#desired.leaving, this.#parts.facts.report.workers);
    this.#closed = new Set([...left, ...this.#withheld]);
    const hasReopened = [...before].some(
      (workerId) => !this.#closed.has(workerId) && this.#workerSet.has(workerId),
    );
    if (hasReopened) this.#reopenings += 1;
    return { closed: [...this.#closed].filter((workerId) => !before.has(workerId)), hasReopened };
  }

  /** Stores the idle times if that is due; returns when to review. */
  #storeIdle(reviewAt: number | null, { idleTimeoutSeconds }: EndpointConfig, now: number): number | null {
    if (reviewAt === null || idleTimeoutSeconds * 1_000 <= IDLE_STORE_AFTER_MS) return reviewAt;
    const idleTimes = { idleSinceAt: this.#idleSinceAt, freeSince: [...this.#workerSet.idleTimes] };
    return earliest([reviewAt, this.#idleTracker.keep(idleTimes, now)]);
  }

  #save(desired: DesiredState): void {
    this.#desired = desired;
    this.#parts.stored.write(desired);
  }
}

function togetherOf(
  a: Pick<ScaleDown, "leaving" | "draining">,
  b: Pick<ScaleDown, "leaving" | "draining">,
): Pick<ScaleDown, "leaving" | "draining"> {
  return { leaving: [...a.leaving, ...b.leaving], draining: [...a.draining, ...b.draining] };
}

const NONE: readonly string[] = [];
const NO_CHOICE: RolloutPlan["either"] = { count: 0, among: new Set() };
const NO_SCALE_DOWN = { leaving: NONE, draining: NONE };
const UNCHANGED: AdmissionChange = { closed: NONE, hasReopened: false };
