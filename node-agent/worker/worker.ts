/**
 * The life of one worker on this host:
 *
 *   pulling ──► starting ──► ready ──► stopping ──► gone
 *                  ▲           │ exit, start limit, unhealthy
 *                  └─ back-off ◄┘ (crash_looping, unhealthy)
 *
 * A ready worker may be put on standby, which is frozen; after that it is starting again until it shows that it is
 * ready. How it shows that, and what it then does, depends on its mode: queue or load-balanced.
 *
 * Each start uses the latest assignment. While that has a problem, nothing is started (unhealthy).
 *
 * One loop owns the container. Everything else only changes facts and wakes the loop, which decides by `decideLife`.
 */
import { setTimeout as delay } from "node:timers/promises";
import { ignoreFailure } from "../../src/std/errors.ts";
import { retryDelayMs } from "../../src/std/waiting.ts";
import type {
  Assignment,
  AssignmentOutline,
  WorkerReport,
  WorkerState,
} from "../../src/contract/agent/agent.ts";
import type { WorkerExit } from "../runtime/interface/runtime.ts";
import type { WorkerSession } from "../worker-server/worker-server.ts";
import type { WorkerCalls } from "../worker-server/poll.ts";
import { type AdoptedWorker, Container, type ContainerOptions } from "./lifecycle/container.ts";
import type { WorkerContext } from "./lifecycle/mode.ts";
import {
  decideLife,
  type LifeEnd,
  type LifeFacts,
  type Recreation,
  recreationOf,
} from "./lifecycle/worker-life.ts";
import { Preparation } from "./lifecycle/preparation.ts";
import {
  describeFailure,
  type WorkerFailure,
  decideRestart,
  removalPolicy,
  restartPolicy,
} from "./lifecycle/restart.ts";
import { Standby } from "./lifecycle/standby.ts";
import { WorkerStatus } from "./lifecycle/worker-status.ts";
import { Notifier } from "../core/notifier.ts";
import { QueueMode, type QueueModeOptions } from "./queue/queue-mode.ts";
import { LoadBalancedMode, type LoadBalancedModeOptions } from "./load-balancing/load-balanced-mode.ts";
import { PodMode, type PodModeOptions } from "./pod/pod-mode.ts";

/** What the worker does, by the type of its endpoint. */
export type WorkerMode = QueueMode | LoadBalancedMode | PodMode;

export type WorkerOptions = ContainerOptions &
  QueueModeOptions &
  LoadBalancedModeOptions &
  PodModeOptions & {
    /** `isWithdrawn`: a worker takes no more jobs, so its slots must be withdrawn at once. */
    readonly onSlotsChange: (endpointId: string, isWithdrawn: boolean) => void;
    /** Ends what users run in the container; resolves when nothing of it is left. `reason`: a message for users. */
    readonly onContainerEnd: (workerId: string, reason: string) => Promise<void>;
    /** `isNewState`: more than the detail has changed. */
    readonly onStateChange: (isNewState: boolean) => void;
    /** The id of a draining worker that leaves no room on the GPUs of the assignment; undefined for none. */
    readonly gpuHolder: (assignment: AssignmentOutline) => string | undefined;
  };

export class Worker implements WorkerSession {
  readonly assignment: AssignmentOutline;
  readonly mode: WorkerMode;
  readonly #options: WorkerOptions;
  readonly #notifier = new Notifier();
  readonly #container: Container;
  readonly #standby: Standby;
  readonly #status: WorkerStatus;
  readonly #preparation: Preparation;
  #isDraining = false;
  /** The container's life has ended, though its process may still poll for jobs. */
  #isOver = false;
  #failuresInRow = 0;

  /** `record`: of a container that an earlier agent process has started. */
  constructor(assignment: AssignmentOutline, options: WorkerOptions, record?: AdoptedWorker) {
    this.assignment = assignment;
    this.#options = options;
    this.#container = new Container(assignment, options, this.#notifier, record);
    this.#status = new WorkerStatus(record ? stateOf(record) : "pulling", options.onStateChange);
    this.mode = this.#createMode();
    this.#preparation = new Preparation({
      workerId: assignment.workerId,
      container: this.#container,
      status: this.#status,
      notifier: this.#notifier,
      log: options.log,
      policy: restartPolicy(options.timing),
      isDraining: () => this.#isDraining,
      gpuHolder: () => options.gpuHolder(assignment),
    });
    if (!this.#container.isStarted) this.#status.startTimes.record("assigned");
    const { workerId } = this;
    this.#standby = new Standby({ workerId, log: options.log, container: this.#container });
  }

  #createMode(): WorkerMode {
    const context: WorkerContext = {
      outline: this.assignment,
      container: this.#container,
      status: this.#status,
      isAlive: () => this.#container.isAlive && !this.#isOver,
      isDraining: () => this.#isDraining,
      acceptsWork: () => !this.#standby.isOn && !this.#isDraining,
      markReady: (how: string) => this.#markReady(how),
      onChange: (isWithdrawn?: boolean) => this.#changed(isWithdrawn),
    };
    switch (this.assignment.type) {
      case "LB":
        return new LoadBalancedMode(context, this.#options);
      case "QB":
        return new QueueMode(context, this.#options);
      case "POD":
        return new PodMode(context, this.#options);
    }
  }

  // State

  get workerId(): string {
    return this.assignment.workerId;
  }

  get token(): string {
    return this.#container.token;
  }

  get calls(): WorkerCalls {
    return this.mode.calls;
  }

  /** It is frozen, or about to be. */
  get isFrozen(): boolean {
    return this.#standby.isFrozen;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Its container runs, and is not frozen. */
  get isActive(): boolean {
    return this.#container.isAlive && !this.#isOver && !this.isFrozen;
  }

  /** Its programs run on its GPUs. */
  get usesGpus(): boolean {
    return this.#container.usesGpus;
  }

  report(): WorkerReport {
    const container = this.mode.kind === "pod" ? this.mode.report() : undefined;
    return { ...this.#status.reportFor(this.assignment), ...(container && { container }) };
  }

  // Events

  /** Takes the latest assignment; it applies from the next start on. */
  setAssignment(assignment: Assignment): void {
    if (this.#standby.setRequested(assignment.mode === "standby")) this.#changed(this.#standby.isRequested);
    this.#preparation.setAssignment(assignment);
    if (this.mode.kind === "pod") this.mode.updateAdmission();
  }

  recordExit(exit: WorkerExit): void {
    this.#container.recordExit(exit);
    this.#leaveEnded(`The container of ${this.workerId} has ended: ${exit.reason}.`);
    this.#changed(true);
  }

  /** Another worker of this host has ended. */
  otherEnded(): void {
    this.#notifier.notify();
  }

  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#options.log.info("worker_draining", { workerId: this.workerId });
    this.#status.setState("stopping");
    this.#changed(true);
  }

  /** Reports all jobs without a result as lost. */
  loseJobs(reason: string): void {
    if (this.mode.kind === "queue") this.mode.jobs.loseAll(reason);
  }

  // The loop

  /** Keeps the worker running until it is drained, then removes it. Ends early when aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#notifier.notifyOnAbort(signal);
    if (this.#container.isStarted) this.#takeOver();
    let mayContinue = this.#container.isStarted || (await this.#preparation.prepare(signal));
    while (mayContinue && !signal.aborted) {
      if (!this.#container.isStarted && !(await this.#preparation.untilGpusAreFree(signal))) break;
      const startFailure = this.#container.isStarted ? null : await this.#launch();
      const end = startFailure ? null : await this.#liveUntilEnd(signal);
      if (signal.aborted) return;
      const failure = startFailure ?? (await this.#failureOf(end));
      await this.#cleanUp(end);
      if (failure) await this.#pause(this.#recordFailure(failure), signal);
      mayContinue = await this.#preparation.untilStartable(signal);
      if (mayContinue && startFailure) mayContinue = await this.#preparation.prepare(signal); // its image may have been removed
    }
    await this.#remove(signal);
  }

  #takeOver(): void {
    void this.#recordImage();
    if (!this.#container.isFrozen) this.#isRunning();
  }

  async #launch(): Promise<WorkerFailure | null> {
    this.#isOver = false;
    this.mode.reset();
    this.#status.startTimes.begin();
    // A failing worker keeps that state until it is ready again.
    const { state } = this.#status;
    if (state !== "crash_looping" && state !== "unhealthy") this.#status.setState("starting");
    const startFailure = await this.#container.launch();
    if (startFailure) return startFailure;
    this.#status.startTimes.record("containerStarted");
    this.#isRunning();
    void this.#recordImage();
    return null;
  }

  /** The container runs: it was started, thawed, or taken over from an earlier agent process. */
  #isRunning(): void {
    if (this.mode.kind === "load-balanced") this.mode.startProbing();
    if (this.mode.kind === "pod") this.mode.started();
  }

  async #recordImage(): Promise<void> {
    const { workerId } = this;
    const digest = await this.#container.imageDigest();
    if (digest === null || !this.#status.setImageDigest(digest)) return;
    this.#options.log.info("worker_image", { workerId, digest });
  }

  async #liveUntilEnd(signal: AbortSignal): Promise<LifeEnd | null> {
    while (!signal.aborted) {
      const verdict = decideLife(this.#lifeFacts());
      if (verdict.kind === "end") return verdict.reason;
      if (verdict.kind === "live") await this.#notifier.wait(verdict.forMs);
      else if (!(await this.#move(verdict.kind))) return "standby_failed";
    }
    return null;
  }

  async #move(move: "freeze" | "thaw"): Promise<boolean> {
    if (move === "thaw") {
      this.#status.startTimes.resume();
      this.#status.setState("starting");
    }
    const { mode } = this;
    const isDone =
      move === "thaw"
        ? await this.#standby.move(move, { before: () => mode.halt(), after: () => this.#isRunning() })
        : await this.#standby.move(move, {
            before: () => this.#leaveContainer(),
            after: () => {},
          });
    if (isDone && move === "freeze") {
      this.#status.resetFailures(); // time on standby does not count as failing
      this.#status.setState("standby");
    }
    return isDone;
  }

  /** Before it is frozen (B4). */
  async #leaveContainer(): Promise<void> {
    const { workerId, mode } = this;
    if (mode.kind === "load-balanced") mode.evictRequests();
    await this.#options.onContainerEnd(workerId, `The worker ${workerId} was put on standby.`);
  }

  /** What does not end by itself goes with the container. */
  #leaveEnded(reason: string): void {
    this.#options.onContainerEnd(this.workerId, reason).catch(ignoreFailure);
  }

  #lifeFacts(): LifeFacts {
    const { wasReady, exit, isFrozen } = this.#container;
    const { unhealthyReason, ...facts } = this.mode.facts();
    return {
      ...facts,
      hasExited: exit !== null,
      isDraining: this.#isDraining,
      isStandby: this.#standby.isRequested && unhealthyReason === null,
      isFrozen,
      wasReady: wasReady || unhealthyReason !== null,
      runsForMs: this.#container.runsForMs(),
      startLimitMs: this.assignment.startLimitMs,
    };
  }

  async #failureOf(end: LifeEnd | null): Promise<WorkerFailure | null> {
    if (end === "standby_failed") {
      return { kind: "start_refused", reason: this.#standby.error, lastLine: undefined };
    }
    if (end !== "exited") {
      const failure = this.mode.failureOf(end);
      if (!failure) return null;
      this.loseJobs(`The worker was ended: it ${failure.reason}`);
      return { ...failure, lastLine: await this.#container.lastLine() };
    }
    // Its last results may still be on their way through the sockets.
    await delay(this.#options.timing.exitSettleMs);
    const lastLine = await this.#container.lastLine();
    const reason = this.#container.exit?.reason ?? "exited";
    const description = describeFailure({ reason, lastLine });
    this.loseJobs(`The worker ended before the job had a result: ${description}`);
    if (this.#isDraining || this.#recreationOf(end) !== null) return null;
    const { unhealthyReason } = this.mode.facts();
    if (unhealthyReason === null) return { kind: "exited", reason, lastLine };
    return { kind: "reported_unhealthy", reason: unhealthyReason, lastLine };
  }

  async #cleanUp(end: LifeEnd | null): Promise<void> {
    this.#resetFailuresIfHealthy();
    this.#isOver = true; // before its polls return: its next ones would take jobs that wait for the next container
    if (end === "drained" && !this.#container.isFrozen) {
      this.#leaveEnded(this.#drainReason);
      const terminated = this.#container.terminate();
      this.mode.halt(); // the SDK exits once its polls have returned
      await terminated;
    }
    const recreation = this.#recreationOf(end);
    if (recreation !== null) {
      this.#options.log.info("worker_recreated", { workerId: this.workerId, reason: recreation });
    }
    this.mode.end(end);
    await this.#container.cleanUp();
  }

  /** Which of them it was is known at the edge only. */
  get #drainReason(): string {
    return this.mode.kind === "pod"
      ? "The pod was stopped, restarted or terminated."
      : `The worker ${this.workerId} was stopped.`;
  }

  #recreationOf(end: LifeEnd | null): Recreation | null {
    const { wasReady, exit, assignment } = this.#container;
    return recreationOf(end, {
      isRefreshing: this.mode.facts().isRefreshing,
      isDraining: this.#isDraining,
      wasReady,
      exitCode: exit?.exitCode ?? null,
      env: assignment?.env,
    });
  }

  #recordFailure(failure: WorkerFailure): number {
    const record = { failuresInRow: this.#failuresInRow, readyForMs: this.#container.readyForMs() };
    const verdict = decideRestart(failure, record, restartPolicy(this.#options.timing));
    this.#failuresInRow = verdict.failuresInRow;
    this.#status.recordFailures(verdict.failuresInRow);
    const { state, detail } = verdict;
    this.#options.log.warn("worker_failed", { workerId: this.workerId, state, reason: detail });
    const { warning } = this.#preparation;
    if (!this.#isDraining)
      this.#status.setState(state, warning === undefined ? detail : `${detail}. ${warning}`);
    return verdict.delayMs;
  }

  async #remove(signal: AbortSignal): Promise<void> {
    for (let failures = 1; !signal.aborted; failures += 1) {
      this.loseJobs("The worker was removed.");
      if (await this.#container.remove()) {
        this.#options.log.info("worker_removed", { workerId: this.workerId });
        return;
      }
      const delayMs = retryDelayMs(failures, removalPolicy(this.#options.timing));
      await this.#notifier.waitUntil(delayMs, () => signal.aborted);
    }
  }

  // Helpers

  /** After a worker has been ready for a long time, its earlier failures no longer count. */
  #resetFailuresIfHealthy(): void {
    if (this.#container.readyForMs() >= this.#options.timing.healthyMs) this.#status.resetFailures();
  }

  #markReady(how: string): void {
    this.#container.markReady();
    this.#status.startTimes.record("ready");
    this.#options.log.info("worker_ready", { workerId: this.workerId, how });
    if (!this.#isDraining) this.#status.setState("ready");
    this.#changed();
  }

  #changed(isWithdrawn = false): void {
    if (this.mode.kind === "queue") this.#options.logs.setJobs(this.workerId, this.mode.jobs.idsThatMayRun());
    else this.mode.updateAdmission();
    this.#notifier.notify();
    if (this.mode.kind !== "pod") this.#options.onSlotsChange(this.assignment.endpointId, isWithdrawn);
  }

  #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    return this.#notifier.waitUntil(delayMs, () => this.#isDraining || signal.aborted);
  }
}

function stateOf({ wasReady, isFrozen }: AdoptedWorker): WorkerState {
  if (isFrozen) return "standby";
  return wasReady ? "ready" : "starting";
}
