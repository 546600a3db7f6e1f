import { ignoreFailure } from "../../src/std/errors.ts";
import { modelIdsOf } from "../../src/contract/model.ts";
import { setTimeout as delay } from "node:timers/promises";
import type {
  Assignment,
  AssignmentOutline,
  ExchangeReply,
  WorkerReport,
} from "../../src/contract/agent/agent.ts";
import type { AdmissionControl, Admission } from "../link/admission.ts";
import type { ReceivedAttempt } from "../journal/attempt-ledger.ts";
import type { AttemptRecord, JournalAttempt } from "../journal/journal.ts";
import type { AdoptedWorker } from "./lifecycle/container.ts";
import type { LoadBalancedMode } from "./load-balancing/load-balanced-mode.ts";
import { removalPolicy } from "./lifecycle/restart.ts";
import { UnclaimedContainers } from "./unclaimed-containers.ts";
import { Worker, type WorkerOptions } from "./worker.ts";

/** All workers of this host: adopts, starts and drains them. */
export class Workers implements AdmissionControl {
  readonly #options: WorkerOptions;
  readonly #workers = new Map<string, Worker>();
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #unclaimed: UnclaimedContainers;
  #unwatch: (() => void) | null = null;
  #assignments: readonly Assignment[] = [];

  constructor(options: Omit<WorkerOptions, "gpuHolder">) {
    this.#options = { ...options, gpuHolder: (assignment) => this.#gpuHolder(assignment) };
    this.#unclaimed = new UnclaimedContainers({
      ...options,
      retry: removalPolicy(options.timing),
      signal: this.#stopping.signal,
      onRemoved: () => this.#otherEnded(),
    });
  }

  // State

  find(workerId: string): Worker | undefined {
    return this.#workers.get(workerId);
  }

  ofEndpoint(endpointId: string): Worker[] {
    return [...this.#workers.values()].filter((worker) => worker.assignment.endpointId === endpointId);
  }

  /** Endpoints that have workers here; pods belong to none. */
  endpointIds(): Set<string> {
    const workers = [...this.#workers.values()].filter(({ mode }) => mode.kind !== "pod");
    return new Set(workers.map((worker) => worker.assignment.endpointId));
  }

  /** Ids of the pods that are here, running or about to. */
  podIds(): Set<string> {
    const pods = [...this.#workers.values()].filter(({ mode }) => mode.kind === "pod");
    return new Set(pods.map(({ workerId }) => workerId));
  }

  /** Ids of the pods here that have HTTP ports. */
  httpPodIds(): string[] {
    const pods = [...this.#workers.values()].filter(({ mode }) => mode.kind === "pod" && mode.hasHttpPorts);
    return pods.map(({ workerId }) => workerId);
  }

  /** Names of the images of the assigned workers. */
  imageNames(): Set<string> {
    return new Set(this.#assignments.map(({ imageName }) => imageName));
  }

  /** SHA-256s of the files of apps of the assigned workers. */
  artifacts(): Set<string> {
    return new Set(this.#assignments.flatMap(({ artifact }) => artifact?.sha256 ?? []));
  }

  /** Ids of the models of the assigned workers. */
  models(): Set<string> {
    return new Set(this.#assignments.flatMap(({ models }) => modelIdsOf(models)));
  }

  /** Of all workers here, and of those that have ended while the edge lacks the end of one of their jobs. */
  reports(): WorkerReport[] {
    return [...[...this.#workers.values()].map((worker) => worker.report()), ...this.#reportsOfEnded()];
  }

  /** The edge gives the jobs of workers that no host lists to others. */
  #reportsOfEnded(): WorkerReport[] {
    return [...this.#options.ledger.workers()]
      .filter(([workerId]) => !this.#workers.has(workerId))
      .map(([workerId, endpointId]) => ({ workerId, endpointId, revision: 0, state: "stopping" }));
  }

  // Jobs

  /** Slots of the workers of an endpoint that take jobs now. */
  freeSlots(endpointId: string): { readonly workerId: string; readonly free: number }[] {
    return this.ofEndpoint(endpointId)
      .map(({ workerId, mode }) => ({ workerId, free: mode.kind === "queue" ? mode.freeSlots() : 0 }))
      .filter(({ free }) => free > 0);
  }

  /** How many more jobs a worker can get. */
  acceptableJobs(workerId: string): number {
    const mode = this.#workers.get(workerId)?.mode;
    return mode?.kind === "queue" ? mode.acceptableJobs() : 0;
  }

  /** Gives a worker the jobs that it has received; they may share one poll. */
  accept(workerId: string, jobs: readonly ReceivedAttempt[]): void {
    const mode = this.#workers.get(workerId)?.mode;
    if (mode?.kind === "queue") mode.jobs.accept(jobs);
  }

  /** Stops an attempt whose result is not needed, whether a worker has it or only the ledger. */
  stopJob(endpointId: string, { jobId, attempt, reason }: ExchangeReply["stops"][number]): void {
    const isStopped = this.ofEndpoint(endpointId).some(
      ({ mode }) => mode.kind === "queue" && mode.jobs.stop(jobId, attempt, reason),
    );
    if (!isStopped) this.#options.ledger.abandon(jobId, attempt);
  }

  /** Whether workers of the endpoint run, or are about to. */
  hasRunning(endpointId: string): boolean {
    return this.ofEndpoint(endpointId).some(({ isFrozen }) => !isFrozen);
  }

  // Requests

  openWorkers(endpointId: string): readonly string[] {
    return this.ofEndpoint(endpointId)
      .filter(({ mode }) => mode.kind !== "queue" && mode.isOpen())
      .map(({ workerId }) => workerId);
  }

  admit(endpointId: string, workerId: string, evict: () => void, port?: number): Admission | null {
    const { mode } = this.#workers.get(workerId) ?? {};
    if (mode?.kind === "pod") return port !== undefined && endpointId === workerId ? mode.admit(port) : null;
    return this.#loadBalanced(endpointId, workerId)?.admit(evict) ?? null;
  }

  connectionFailed(endpointId: string, workerId: string): void {
    this.#loadBalanced(endpointId, workerId)?.connectionFailed();
  }

  connectionRefused(endpointId: string, workerId: string): void {
    this.#loadBalanced(endpointId, workerId)?.connectionRefused();
  }

  #loadBalanced(endpointId: string, workerId: string): LoadBalancedMode | undefined {
    const { mode, assignment } = this.#workers.get(workerId) ?? {};
    return mode?.kind === "load-balanced" && assignment?.endpointId === endpointId ? mode : undefined;
  }

  // Tunnels

  /** Why nobody may enter the worker's container now, a message for users; null where one may. */
  tunnelRejection(workerId: string): string | null {
    const worker = this.#workers.get(workerId);
    if (!worker) return `The host does not run ${workerId} any more.`;
    if (worker.isFrozen)
      return `The worker ${workerId} is on standby: nothing runs in it until it gets work.`;
    return worker.isActive ? null : `The container of ${workerId} does not run yet.`;
  }

  // Adopting

  /** Takes over running containers of an earlier agent process, and their attempts. */
  async adopt({ isReachable }: { isReachable: boolean }): Promise<void> {
    const { runtime, journal } = this.#options;
    this.#unwatch = runtime.watch((exit) => this.#workers.get(exit.workerId)?.recordExit(exit));
    const records = new Map(journal.workers().map((record) => [record.assignment.workerId, record]));
    const attempts = Map.groupBy(journal.attempts(), (attempt) => attempt.workerId);
    const found = await runtime.list();
    const running = new Map(
      found.filter((worker) => worker.isRunning).map((worker) => [worker.workerId, worker]),
    );
    for (const [workerId, record] of records) {
      const { isFrozen } = running.get(workerId) ?? {};
      if (isReachable && isFrozen !== undefined)
        this.#adoptOne({ ...record, isFrozen }, attempts.get(workerId) ?? []);
      else journal.removeWorker(workerId);
    }
    const unclaimed = found.filter((worker) => !this.#workers.has(worker.workerId));
    await this.#unclaimed.discard(
      unclaimed.map(({ workerId, isRunning }) => {
        const { gpuIndexes = null } = records.get(workerId)?.assignment ?? {};
        return { workerId, isRunning, gpuIndexes };
      }),
    );
    await this.#loseOrphanedAttempts([...attempts.values()].flat()); // others get the jobs when no handler has them
  }

  #adoptOne(record: AdoptedWorker, attempts: readonly JournalAttempt[]): void {
    const worker = new Worker(record.assignment, this.#options, record);
    if (worker.mode.kind === "queue") {
      for (const attempt of attempts) worker.mode.jobs.adopt(attempt);
      worker.mode.jobs.expectStrays();
    }
    const { workerId, endpointId } = record.assignment;
    this.#options.log.info("worker_adopted", { workerId, endpointId, attempts: attempts.length });
    this.#add(worker);
  }

  async #loseOrphanedAttempts(attempts: readonly AttemptRecord[]): Promise<void> {
    const { ledger } = this.#options;
    const reason = "The worker ended while the agent of its host was not running.";
    const lost = attempts.filter((attempt) => !this.#workers.has(attempt.workerId));
    await Promise.all(lost.map((attempt) => ledger.report(attempt, { kind: "lost", reason })));
  }

  // Reconciling

  apply(assignments: readonly Assignment[]): void {
    this.#assignments = assignments;
    this.#reconcile();
  }

  #reconcile(): void {
    if (this.#stopping.signal.aborted) return;
    const present = [...this.#workers.values()].map(({ workerId, isDraining, assignment }) => {
      return { workerId, isDraining, revision: assignment.revision };
    });
    const plan = planWorkers(this.#assignments, present);
    for (const workerId of plan.drain) this.#workers.get(workerId)?.drain();
    for (const assignment of this.#assignments) this.#update(assignment);
    for (const assignment of plan.start) {
      const { workerId, endpointId, isSuperseded = false } = assignment;
      this.#options.log.info("worker_assigned", { workerId, endpointId, isSuperseded });
      const worker = new Worker(assignment, this.#options);
      worker.setAssignment(assignment);
      this.#add(worker);
    }
  }

  /** A worker of another version drains, so it does not take the new assignment. */
  #update(assignment: Assignment): void {
    const worker = this.#workers.get(assignment.workerId);
    if (worker?.assignment.revision === assignment.revision) worker.setAssignment(assignment);
  }

  #add(worker: Worker): void {
    this.#workers.set(worker.workerId, worker);
    const running = this.#run(worker);
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  /**
   * Fleet gives GPUs of a host that was lost to others, while its workers still end their jobs there. Those that share a
   * GPU wait only where they do not fit on it together.
   */
  #gpuHolder(outline: AssignmentOutline): string | undefined {
    const { workerId, gpuIndexes } = outline;
    const others = [...this.#workers.values()].filter(
      (other) => other.workerId !== workerId && other.usesGpus && sharesGpu(other.assignment, outline),
    );
    const draining = others.filter(({ isDraining }) => isDraining);
    const all = others.map(({ assignment }) => assignment);
    const holder = draining.find(
      ({ assignment }) => assignment.gpuMemoryMb === undefined || !this.#fitsBeside(outline, all),
    );
    return holder?.workerId ?? this.#unclaimed.holderOf(gpuIndexes);
  }

  #fitsBeside(outline: AssignmentOutline, others: readonly AssignmentOutline[]): boolean {
    const gpus = this.#options.gpus().filter(({ index }) => outline.gpuIndexes.includes(index));
    return gpus.every(({ index, memoryMb }) => {
      const all = [outline, ...others.filter(({ gpuIndexes }) => gpuIndexes.includes(index))];
      return all.reduce((sum, { gpuMemoryMb = Infinity }) => sum + gpuMemoryMb, 0) <= memoryMb;
    });
  }

  #otherEnded(): void {
    for (const worker of this.#workers.values()) worker.otherEnded();
  }

  async #run(worker: Worker): Promise<void> {
    try {
      await worker.run(this.#stopping.signal);
    } catch (error) {
      // A bug of the agent: the worker is given up, and reconciling starts it again if it is still assigned.
      this.#options.log.error("worker_failed", { workerId: worker.workerId, reason: String(error) });
      worker.loseJobs(`The agent failed to run the worker: ${String(error)}`);
      await this.#options.runtime.remove(worker.workerId).catch(ignoreFailure);
      // An immediate failure may repeat immediately.
      const { signal } = this.#stopping;
      await delay(this.#options.timing.restartBaseMs, undefined, { signal }).catch(ignoreFailure);
    }
    if (this.#stopping.signal.aborted) return;
    this.#workers.delete(worker.workerId);
    if (worker.mode.kind === "pod") void this.#options.pods.containerRemoved(worker.workerId);
    this.#otherEnded();
    this.#options.logs.removed(worker.workerId);
    this.#options.onStateChange(true);
    if (worker.mode.kind !== "pod") this.#options.onSlotsChange(worker.assignment.endpointId, true);
    this.#reconcile();
  }

  // Stopping

  /** Leaves the containers running, for the next agent process. */
  async detach(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
    for (const worker of this.#workers.values()) worker.mode.close();
    this.#unwatch?.();
  }

  /** Kills and removes every worker of this host. */
  async removeAll(): Promise<void> {
    const { runtime, journal } = this.#options;
    await this.detach();
    const found = await runtime.list();
    await Promise.all(found.map(({ workerId }) => runtime.remove(workerId)));
    for (const { assignment } of journal.workers()) journal.removeWorker(assignment.workerId);
  }
}

function sharesGpu(one: AssignmentOutline, other: AssignmentOutline): boolean {
  return one.gpuIndexes.some((index) => other.gpuIndexes.includes(index));
}

/** A worker of this host, as far as reconciling is concerned. */
export type PresentWorker = {
  readonly workerId: string;
  readonly revision: number;
  readonly isDraining: boolean;
};

export type ReconcilePlan = {
  readonly start: readonly Assignment[];
  readonly drain: readonly string[];
};

/** Decides which workers to start and to drain so that the host has those that are assigned. */
export function planWorkers(
  assignments: readonly Assignment[],
  present: readonly PresentWorker[],
): ReconcilePlan {
  const assigned = new Map(assignments.map((assignment) => [assignment.workerId, assignment]));
  const presentIds = new Set(present.map((worker) => worker.workerId));
  return {
    start: [...assigned.values()].filter((assignment) => !presentIds.has(assignment.workerId)),
    drain: present
      .filter((worker) => !worker.isDraining)
      .filter((worker) => assigned.get(worker.workerId)?.revision !== worker.revision)
      .map((worker) => worker.workerId),
  };
}
