/** What workers have run, which only the simulator sees: who had which job, and when. */
import type { Container } from "../host/containers.ts";
import type { WorkerObserver } from "../host/worker.ts";
import { decodeJobId } from "../../../src/domain/jobs/job-id.ts";
import type { World } from "../world/world.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";
import { objectOf } from "./endpoint-rows.ts";

type Execution = {
  readonly mark: number;
  readonly container: Container;
  isOver: boolean;
  /** When its agent acknowledged the result, true time; null before. */
  deliveredAt: number | null;
  /** A client has had the job run again since, beside which it may still end. */
  isRetried: boolean;
};

/**
 * With one of these an agent may be silent for longer than a lease, or lose what it has written, while its workers go
 * on. All others pass before a lease ends.
 */
const TAKE_LEASES: readonly Fault[] = [
  "agentKilled",
  "agentPartitioned",
  "daemonBroken",
  "diskFull",
  "powerLost",
];

/**
 * With these a container may run on that its agent has given up: its daemon does not end it, or the journal has no room
 * for what it has.
 */
const LEAVE_RUNNING: readonly Fault[] = ["daemonBroken", "diskFull"];

/** From its claim to its begin. */
const LATE_MS = 2_500;

/** An agent that ends a container decides so before, when its last handler may still run. */
const DECIDED_MS = 500;

export class Executions implements WorkerObserver {
  readonly #world: World;
  readonly #violate: (what: string) => void;
  readonly #inside = new Map<Container, Set<string>>();
  readonly #byJob = new Map<string, Execution[]>();
  readonly #begunAt = new Map<number, number>();
  /** By endpoint and number of the job. */
  readonly #lastBegunAt = new Map<string, number>();
  readonly #underway = new Map<string, Execution>();
  readonly #areLeasesKept: boolean;
  readonly #areGivenUpEnded: boolean;
  /** True time at which a worker last began or ended a job, ms of the history. */
  lastAt = 0;
  readonly #expiresAt: (jobId: string) => number | null;
  readonly #lateMs: number;
  readonly #jobsPerWorker: number;
  /** When the last handler of a container ended. */
  readonly #endedAt = new WeakMap<Container, number>();
  /** Marks of results that workers reported after another one was taken. */
  readonly #contradicting = new Set<number>();
  readonly #retriedAt = new Map<string, number>();
  /** Workers that Fleet took for lost with their hosts. */
  readonly #lost = new Set<string>();

  /** `expiresAt`: when a job is gone that its client has given a time, ms of the history. */
  constructor(
    world: World,
    plan: HistoryPlan,
    expiresAt: (jobId: string) => number | null,
    violate: (what: string) => void,
  ) {
    this.#world = world;
    this.#expiresAt = expiresAt;
    this.#lateMs = LATE_MS + 2 * (plan.faults.get("clockSkew") ?? 0);
    this.#jobsPerWorker = plan.jobsPerWorker;
    this.#violate = violate;
    this.#areLeasesKept = !TAKE_LEASES.some((fault) => plan.faults.has(fault));
    this.#areGivenUpEnded = !LEAVE_RUNNING.some((fault) => plan.faults.has(fault));
  }

  began = (jobId: string, container: Container, mark: number, readMs: number): void => {
    const { endpointId } = container.spec;
    this.#begunAt.set(mark, this.#world.now);
    this.#lastBegunAt.set(keyOf(objectOf(endpointId, jobId), decodeJobId(jobId)?.seq ?? 0), this.#world.now);
    this.lastAt = this.#world.elapsedMs;
    this.onBegun(jobId, container, readMs);
    const inside = this.#inside.get(container) ?? new Set();
    this.#inside.set(container, inside.add(jobId));
    const all = this.#byJob.get(jobId) ?? [];
    const before = all.filter((one) => !one.isRetried && !this.#lost.has(one.container.spec.workerId));
    // It may have had the job on its way to it since before a client had that run again.
    const isRetried = this.#retriedSince(
      keyOf(objectOf(endpointId, jobId), decodeJobId(jobId)?.seq ?? 0),
      readMs,
    );
    const execution = { mark, container, isOver: false, deliveredAt: null, isRetried };
    this.#byJob.set(jobId, [...all, execution]);
    this.#underway.set(container.spec.workerId, execution);
    const expiresAt = this.#expiresAt(jobId);
    if (this.#areLeasesKept && expiresAt !== null && this.#world.elapsedMs > expiresAt + this.#lateMs)
      this.#violate(`${jobId} begins, and had expired at ${expiresAt} ms`);
    const { workerId } = container.spec;
    // It was given up with its host while the job was on its way there: that is given out again meanwhile.
    if (this.#lost.has(workerId)) return;
    const running = before.find((one) => !one.isOver && one.container.isRunning);
    if (running && this.#areGivenUpEnded)
      this.#violate(`${workerId} has ${jobId}, which ${running.container.spec.workerId} still runs`);
    if (before.some(({ deliveredAt }) => deliveredAt !== null))
      this.#violate(`${jobId} runs again, though its result was reported`);
  };

  ended = (jobId: string, container: Container, isReported: boolean): void => {
    this.lastAt = this.#world.elapsedMs;
    // The next request of a worker with one slot shows that the result got lost.
    if (isReported || this.#jobsPerWorker === 1) this.#inside.get(container)?.delete(jobId);
    const execution = this.#byJob.get(jobId)?.findLast((one) => one.container === container);
    if (execution) execution.isOver = true;
    this.#endedAt.set(container, this.#world.elapsedMs);
  };

  delivered = (jobId: string, container: Container): void => {
    const execution = this.#byJob.get(jobId)?.findLast((one) => one.container === container);
    if (execution) execution.deliveredAt = this.#world.now;
  };

  repeated = (mark: number, other: number): void => {
    const begunAt = this.#begunAt.get(mark);
    if (begunAt !== undefined) this.#begunAt.set(other, begunAt);
    this.#contradicting.add(other);
  };

  /** The disk of their host had kept to itself what came then or later. */
  resultsLost = (containers: Iterable<Container>, since: number): void => {
    const own = new Set(containers);
    for (const execution of [...this.#byJob.values()].flat()) {
      const isLost = own.has(execution.container) && (execution.deliveredAt ?? 0) >= since;
      if (isLost) execution.deliveredAt = null;
    }
  };

  stopped = (container: Container): void => {
    const idleMs = this.#world.elapsedMs - (this.#endedAt.get(container) ?? -Infinity);
    if (!this.isBusy(container) && idleMs > DECIDED_MS) this.onIdleStopped(container);
  };

  returned: WorkerObserver["returned"] = () => {};

  onBegun: (jobId: string, container: Container, readMs: number) => void = () => {};

  /** Whether the container has load-balanced requests. */
  isServing: (container: Container) => boolean = () => false;

  /** An agent ends a container that has nothing to do. */
  onIdleStopped: (container: Container) => void = () => {};

  /** A job that had ended is to run again. */
  retried(object: string, seq: number): void {
    this.#retriedAt.set(keyOf(object, seq), this.#world.now);
    const [endpointId = "", shard] = object.split("#");
    const isJob = (jobId: string): boolean => {
      const id = decodeJobId(jobId);
      return id?.seq === seq && id.shard === Number(shard);
    };
    for (const execution of [...this.#byJob].flatMap(([jobId, all]) => (isJob(jobId) ? all : [])))
      if (execution.container.spec.endpointId === endpointId) execution.isRetried = true;
  }

  #retriedSince(key: string, agoMs: number): boolean {
    return (this.#retriedAt.get(key) ?? -Infinity) > this.#world.now - agoMs;
  }

  /**
   * Whether a job that has ended without chunks may still show those of the execution with the mark: one that was lost
   * after the last retry.
   */
  mayHaveLeftChunks(endpointId: string, jobId: string, mark: number): boolean {
    const retriedAt =
      this.#retriedAt.get(keyOf(objectOf(endpointId, jobId), decodeJobId(jobId)?.seq ?? 0)) ?? 0;
    return (this.#begunAt.get(mark) ?? 0) >= retriedAt;
  }

  /** Jobs of the worker are given to others, though it may still run them. */
  workerLost(workerId: string): void {
    this.#lost.add(workerId);
  }

  /** Whether one of the workers that the text names was lost with its host. */
  hasLostOneOf(text: string): boolean {
    return this.#lost.values().some((workerId) => text.includes(workerId));
  }

  /** Ids of the jobs whose handlers run in the container. */
  jobsIn(container: Container): readonly string[] {
    const isOver = (jobId: string): boolean =>
      this.#byJob.get(jobId)?.findLast((one) => one.container === container)?.isOver === true;
    return this.insideOf(container).filter((jobId) => !isOver(jobId));
  }

  /** The same, and of those whose results got lost, which their agent may take for running. */
  insideOf(container: Container): readonly string[] {
    return [...(this.#inside.get(container) ?? [])];
  }

  /** Whether the result with the mark came after another one of its execution, which had been taken. */
  isContradicting(mark: number): boolean {
    return this.#contradicting.has(mark);
  }

  /** True time at which the execution with the mark began, epoch ms. */
  beganAt(mark: number): number | undefined {
    return this.#begunAt.get(mark);
  }

  /** Whether a worker has begun the job since then, true time, epoch ms. */
  hasBegun(object: string, seq: number, since: number): boolean {
    return (this.#lastBegunAt.get(keyOf(object, seq)) ?? 0) >= since;
  }

  /** Id of the job of the execution with the mark. */
  jobOfMark(mark: number): string | undefined {
    return [...this.#byJob].find(([, all]) => all.some((one) => one.mark === mark))?.[0];
  }

  /** The mark of the last execution that the worker began, while it is under way. */
  executionIn(workerId: string): number | undefined {
    const execution = this.#underway.get(workerId);
    return execution && !execution.isOver && execution.container.isRunning ? execution.mark : undefined;
  }

  /** Whether the job is in the container, or as many others as it takes. */
  hasNoPlaceFor(jobId: string, container: Container): boolean {
    const inside = this.#inside.get(container);
    return inside !== undefined && (inside.has(jobId) || inside.size >= this.#jobsPerWorker);
  }

  /** Whether a job is in the container, as far as its agent knows: one whose result got lost runs until its time is over. */
  isBusy(container: Container): boolean {
    return (this.#inside.get(container)?.size ?? 0) > 0 || this.isServing(container);
  }
}

function keyOf(object: string, seq: number): string {
  return `${object} ${seq}`;
}
