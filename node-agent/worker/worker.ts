/**
 * The life of one worker on this host:
 *
 *   pulling ──► starting ──► ready ──► stopping ──► gone
 *                  ▲           │ exit, start limit, unhealthy
 *                  └─ back-off ◄┘ (crash_looping, unhealthy)
 *
 * A ready worker may be put on standby, which is frozen; after that it is starting again until it shows that it is
 * ready. How it shows that, and what it then does, is its duty (duty.ts).
 *
 * Each start is made of what the edge said last. While that is a problem, nothing is started (unhealthy).
 *
 * One loop owns the container. Everything else only changes facts and wakes the loop,
 * which asks `judgeLife` what they mean.
 */
import { setTimeout as delay } from "node:timers/promises";
import type {
  Assignment,
  AssignmentOutline,
  WorkerReport,
  WorkerState,
} from "../../src/contract/agent/agent.ts";
import type { WorkerExit } from "../runtime/runtime.ts";
import type { WorkerCalls, WorkerSession } from "../worker-server/worker-server.ts";
import { type AdoptedWorker, Container, type ContainerOptions } from "./container.ts";
import { type ModeOptions, createMode } from "./modes.ts";
import type { WorkerMode } from "./mode.ts";
import { decideLife, type LifeEnd, type LifeFacts } from "./lifecycle/worker-life.ts";
import { Preparation } from "./lifecycle/preparation.ts";
import { type Recreation, recreationOf } from "./lifecycle/recreation.ts";
import {
  describeFailure,
  type Failure,
  decideRestart,
  restartDelayMs,
  restartPolicy,
} from "./lifecycle/restart.ts";
import { Standby } from "./lifecycle/standby.ts";
import { WorkerStatus } from "./lifecycle/worker-status.ts";
import { Notifier } from "../async/notifier.ts";

export type WorkerOptions = ContainerOptions &
  ModeOptions & {
    /** `isWithdrawn`: a worker takes no jobs any more, so its slots must not be offered a moment longer. */
    readonly onSlotsChange: (endpointId: string, isWithdrawn: boolean) => void;
    /** `isNewState`: more than the detail has changed. */
    readonly onStateChange: (isNewState: boolean) => void;
    /** Other workers of the endpoint than before take requests now. */
    readonly onAdmissionChange: (endpointId: string) => void;
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
  /** The container's life has ended, though its process may still ask for jobs. */
  #isOver = false;
  #failuresInRow = 0;

  /** `record` is that of a container which runs already, from an earlier agent process. */
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
      problemOf: (assigned) => this.mode.problemOf(assigned),
    });
    const { workerId, mode } = this;
    this.#standby = new Standby({ workerId, mode, log: options.log, container: this.#container });
  }

  #createMode(): WorkerMode {
    const context = {
      outline: this.assignment,
      container: this.#container,
      status: this.#status,
      isAlive: () => this.#container.isAlive && !this.#isOver,
      isDraining: () => this.#isDraining,
      acceptsWork: () => !this.#standby.isOn && !this.#isDraining,
      markReady: (how: string) => this.#markReady(how),
      onChange: (isWithdrawn?: boolean) => this.#changed(isWithdrawn),
    };
    return createMode(context, this.#options);
  }

  // What there is

  get workerId(): string {
    return this.assignment.workerId;
  }

  get token(): string {
    return this.#container.token;
  }

  get calls(): WorkerCalls {
    return this.mode.calls;
  }

  /** It is frozen, or about to be: nothing can come of it until the edge wants it again. */
  get isFrozen(): boolean {
    return this.#container.isFrozen;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  report(): WorkerReport {
    return this.#status.reportFor(this.assignment);
  }

  // Told by the runtime and by reconciling

  /** The edge says anew what the worker is made of; a container that runs goes on as it is. */
  setAssignment(assignment: Assignment): void {
    if (this.#standby.setRequested(assignment.mode === "standby")) this.#changed(this.#standby.isRequested);
    this.#preparation.setAssignment(assignment);
  }

  recordExit(exit: WorkerExit): void {
    this.#container.recordExit(exit);
    this.#changed(true);
  }

  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#options.log.info("worker_draining", { workerId: this.workerId });
    this.#status.setState("stopping");
    this.#changed(true);
  }

  // The loop

  /** Keeps the worker running until it is drained; then nothing of it is left. Ends early when aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#notifier.notifyOnAbort(signal);
    if (this.#container.isStarted) this.#takeOver();
    let mayContinue = this.#container.isStarted || (await this.#preparation.prepare(signal));
    while (mayContinue && !signal.aborted) {
      const startFailure = this.#container.isStarted ? null : await this.#launch();
      const end = startFailure ? null : await this.#liveUntilEnd(signal);
      if (signal.aborted) return;
      const failure = startFailure ?? (await this.#failureOf(end));
      await this.#cleanUp(end);
      if (failure) await this.#pause(this.#recordFailure(failure), signal);
      mayContinue = await this.#preparation.untilStartable(signal);
      if (mayContinue && startFailure) mayContinue = await this.#preparation.prepare(signal); // its image may be gone
    }
    await this.#remove(signal);
  }

  #takeOver(): void {
    void this.#recordImage();
    if (!this.#container.isFrozen) this.mode.onRunning();
  }

  async #launch(): Promise<Failure | null> {
    this.#isOver = false;
    this.mode.reset();
    this.#status.startTimes.restart();
    // A failing worker is called so until it is ready again.
    const { state } = this.#status;
    if (state !== "crash_looping" && state !== "unhealthy") this.#status.setState("starting");
    const startFailure = await this.#container.launch((assignment) => this.mode.planServer(assignment));
    if (startFailure) return startFailure;
    this.#status.startTimes.record("containerStarted");
    this.mode.onRunning();
    void this.#recordImage();
    return null;
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
      this.#status.startTimes.forget();
      this.#status.startTimes.record("containerStarted");
      this.#status.setState("starting");
    }
    const isDone = await this.#standby.move(move);
    if (isDone && move === "freeze") {
      this.#status.resetFailures(); // it came up and did its work; its time in the cold is none of failing
      this.#status.setState("standby");
    }
    return isDone;
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

  async #failureOf(end: LifeEnd | null): Promise<Failure | null> {
    if (end === "standby_failed") {
      return { kind: "start_refused", reason: this.#standby.error, lastLine: undefined };
    }
    if (end !== "exited") {
      const failure = this.mode.failureOf(end);
      if (!failure) return null;
      this.mode.loseJobs(`The worker was ended: it ${failure.reason}`);
      return { ...failure, lastLine: await this.#container.lastLine() };
    }
    // What it posted last may still be on its way through the sockets.
    await delay(this.#options.timing.exitSettleMs);
    const lastLine = await this.#container.lastLine();
    const reason = this.#container.exit?.reason ?? "exited";
    const description = describeFailure({ reason, lastLine });
    this.mode.loseJobs(`The worker ended before the job had a result: ${description}`);
    if (this.#isDraining || this.#recreationOf(end) !== null) return null;
    const { unhealthyReason } = this.mode.facts();
    if (unhealthyReason === null) return { kind: "exited", reason, lastLine };
    return { kind: "reported_unhealthy", reason: unhealthyReason, lastLine };
  }

  async #cleanUp(end: LifeEnd | null): Promise<void> {
    this.#resetFailuresIfHealthy();
    this.#isOver = true; // before its polls return: the next ones would take what waits for its successor
    if (end === "drained" && !this.#container.isFrozen) {
      const terminated = this.#container.terminate();
      this.mode.halt(); // the SDK ends when its polls have returned
      await terminated;
    }
    const recreation = this.#recreationOf(end);
    if (recreation !== null) {
      this.#options.log.info("worker_recreated", { workerId: this.workerId, reason: recreation });
    }
    this.mode.end(end);
    await this.#container.cleanUp();
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

  #recordFailure(failure: Failure): number {
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
      this.mode.loseJobs("The worker was removed.");
      if (await this.#container.remove()) {
        this.#options.log.info("worker_removed", { workerId: this.workerId });
        return;
      }
      await this.#notifier.waitUntil(
        restartDelayMs(failures, restartPolicy(this.#options.timing)),
        () => signal.aborted,
      );
    }
  }

  // Small parts

  /** What failed before it was ready for so long is no reason for what comes. */
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
    this.#options.logs.setJobs(this.workerId, this.mode.jobIds());
    this.mode.onChanged();
    this.#notifier.notify();
    this.#options.onSlotsChange(this.assignment.endpointId, isWithdrawn);
  }

  #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    return this.#notifier.waitUntil(delayMs, () => this.#isDraining || signal.aborted);
  }
}

function stateOf({ wasReady, isFrozen }: AdoptedWorker): WorkerState {
  if (isFrozen) return "standby";
  return wasReady ? "ready" : "starting";
}
