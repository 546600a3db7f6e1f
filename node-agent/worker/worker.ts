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
import type { Assignment, AssignmentOutline, WorkerReport, WorkerState } from "../../src/contract/agent.ts";
import type { WorkerExit } from "../runtime/runtime.ts";
import type { WorkerCalls, WorkerSession } from "../worker-server/worker-server.ts";
import { type AdoptedWorker, Container, type ContainerOptions } from "./container.ts";
import { type DutyOptions, dutyOf } from "./duties.ts";
import type { Duty } from "./duty.ts";
import { judgeLife, type LifeEnd, type LifeFacts } from "./life.ts";
import { Preparation } from "./preparation.ts";
import { type Recreation, recreationOf } from "./recreation.ts";
import { describeFailure, type Failure, judgeFailure, restartDelayMs, restartPolicy } from "./restart.ts";
import { Standby } from "./standby.ts";
import { Standing } from "./standing.ts";
import { Wake } from "./wake.ts";

export type WorkerOptions = ContainerOptions &
  DutyOptions & {
    /** `isWithdrawn`: a worker takes no jobs any more, so its slots must not be offered a moment longer. */
    readonly onSlotsChange: (endpointId: string, isWithdrawn: boolean) => void;
    /** `isNewState`: more than the detail has changed. */
    readonly onStateChange: (isNewState: boolean) => void;
    /** Other workers of the endpoint than before take requests now. */
    readonly onDoorsChange: (endpointId: string) => void;
  };

export class Worker implements WorkerSession {
  readonly assignment: AssignmentOutline;
  readonly duty: Duty;
  readonly #options: WorkerOptions;
  readonly #wake = new Wake();
  readonly #container: Container;
  readonly #standby: Standby;
  readonly #standing: Standing;
  readonly #preparation: Preparation;
  #isDraining = false;
  /** The container's life has ended, though its process may still ask for jobs. */
  #isOver = false;
  #failuresInRow = 0;

  /** `record` is that of a container which runs already, from an earlier agent process. */
  constructor(assignment: AssignmentOutline, options: WorkerOptions, record?: AdoptedWorker) {
    this.assignment = assignment;
    this.#options = options;
    this.#container = new Container(assignment, options, this.#wake, record);
    this.#standing = new Standing(record ? stateOf(record) : "pulling", options.onStateChange);
    this.duty = this.#takeUpDuty();
    this.#preparation = new Preparation({
      workerId: assignment.workerId,
      container: this.#container,
      standing: this.#standing,
      wake: this.#wake,
      log: options.log,
      policy: restartPolicy(options.timing),
      isDraining: () => this.#isDraining,
      problemOf: (assigned) => this.duty.problemOf(assigned),
    });
    const { workerId, duty } = this;
    this.#standby = new Standby({ workerId, duty, log: options.log, container: this.#container });
  }

  #takeUpDuty(): Duty {
    const post = {
      outline: this.assignment,
      container: this.#container,
      standing: this.#standing,
      isAlive: () => this.#container.isAlive && !this.#isOver,
      isDraining: () => this.#isDraining,
      isWanted: () => !this.#standby.isOn && !this.#isDraining,
      becomeReady: (how: string) => this.#becomeReady(how),
      onChange: (isWithdrawn?: boolean) => this.#changed(isWithdrawn),
    };
    return dutyOf(post, this.#options);
  }

  // What there is

  get workerId(): string {
    return this.assignment.workerId;
  }

  get token(): string {
    return this.#container.token;
  }

  get calls(): WorkerCalls {
    return this.duty.calls;
  }

  /** It is frozen, or about to be: nothing can come of it until the edge wants it again. */
  get isFrozen(): boolean {
    return this.#container.isFrozen;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  report(): WorkerReport {
    return this.#standing.reportFor(this.assignment);
  }

  // Told by the runtime and by reconciling

  /** The edge says anew what the worker is made of; a container that runs goes on as it is. */
  renew(assignment: Assignment): void {
    if (this.#standby.want(assignment.mode === "standby")) this.#changed(this.#standby.isWanted);
    this.#preparation.renew(assignment);
  }

  exited(exit: WorkerExit): void {
    this.#container.noteExit(exit);
    this.#changed(true);
  }

  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#options.log.info("worker_draining", { workerId: this.workerId });
    this.#standing.become("stopping");
    this.#changed(true);
  }

  // The loop

  /** Keeps the worker running until it is drained; then nothing of it is left. Ends early when aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#wake.wakeOnAbort(signal);
    if (this.#container.isStarted) this.#takeOver();
    let mayGoOn = this.#container.isStarted || (await this.#preparation.prepare(signal));
    while (mayGoOn && !signal.aborted) {
      const refusal = this.#container.isStarted ? null : await this.#launch();
      const end = refusal ? null : await this.#liveUntilEnd(signal);
      if (signal.aborted) return;
      const failure = refusal ?? (await this.#failureOf(end));
      await this.#clearAway(end);
      if (failure) await this.#pause(this.#recordFailure(failure), signal);
      mayGoOn = await this.#preparation.untilStartable(signal);
      if (mayGoOn && refusal) mayGoOn = await this.#preparation.prepare(signal); // its image may be gone
    }
    await this.#remove(signal);
  }

  #takeOver(): void {
    void this.#noteImage();
    if (!this.#container.isFrozen) this.duty.running();
  }

  async #launch(): Promise<Failure | null> {
    this.#isOver = false;
    this.duty.forget();
    this.#standing.startTimes.beginAnew();
    // A failing worker is called so until it is ready again.
    const { state } = this.#standing;
    if (state !== "crash_looping" && state !== "unhealthy") this.#standing.become("starting");
    const refusal = await this.#container.launch((assignment) => this.duty.planServer(assignment));
    if (refusal) return refusal;
    this.#standing.startTimes.note("containerStarted");
    this.duty.running();
    void this.#noteImage();
    return null;
  }

  async #noteImage(): Promise<void> {
    const { workerId } = this;
    const digest = await this.#container.imageDigest();
    if (digest === null || !this.#standing.runsImage(digest)) return;
    this.#options.log.info("worker_image", { workerId, digest });
  }

  async #liveUntilEnd(signal: AbortSignal): Promise<LifeEnd | null> {
    while (!signal.aborted) {
      const verdict = judgeLife(this.#lifeFacts());
      if (verdict.kind === "end") return verdict.because;
      if (verdict.kind === "live") await this.#wake.wait(verdict.forMs);
      else if (!(await this.#move(verdict.kind))) return "standby_failed";
    }
    return null;
  }

  async #move(move: "freeze" | "thaw"): Promise<boolean> {
    if (move === "thaw") {
      this.#standing.startTimes.forget();
      this.#standing.startTimes.note("containerStarted");
      this.#standing.become("starting");
    }
    const isDone = await this.#standby.move(move);
    if (isDone && move === "freeze") {
      this.#standing.forgive(); // it came up and did its work; its time in the cold is none of failing
      this.#standing.become("standby");
    }
    return isDone;
  }

  #lifeFacts(): LifeFacts {
    const { wasReady, exit, isFrozen } = this.#container;
    const { complaint, ...facts } = this.duty.facts();
    return {
      ...facts,
      hasExited: exit !== null,
      isDraining: this.#isDraining,
      isStandby: this.#standby.isWanted && complaint === null,
      isFrozen,
      wasReady: wasReady || complaint !== null,
      runsForMs: this.#container.runsForMs(),
      startLimitMs: this.assignment.startLimitMs,
    };
  }

  async #failureOf(end: LifeEnd | null): Promise<Failure | null> {
    if (end === "standby_failed") {
      return { kind: "start_refused", reason: this.#standby.fault, lastLine: undefined };
    }
    if (end !== "exited") {
      const failure = this.duty.failureOf(end);
      if (!failure) return null;
      this.duty.lose(`The worker was ended: it ${failure.reason}`);
      return { ...failure, lastLine: await this.#container.lastLine() };
    }
    // What it posted last may still be on its way through the sockets.
    await delay(this.#options.timing.exitSettleMs);
    const lastLine = await this.#container.lastLine();
    const reason = this.#container.exit?.reason ?? "exited";
    const words = describeFailure({ reason, lastLine });
    this.duty.lose(`The worker ended before the job had a result: ${words}`);
    if (this.#isDraining || this.#recreationOf(end) !== null) return null;
    const { complaint } = this.duty.facts();
    if (complaint === null) return { kind: "exited", reason, lastLine };
    return { kind: "reported_unhealthy", reason: complaint, lastLine };
  }

  async #clearAway(end: LifeEnd | null): Promise<void> {
    this.#forgiveIfHealthy();
    this.#isOver = true; // before its polls return: the next ones would take what waits for its successor
    if (end === "drained" && !this.#container.isFrozen) {
      const terminated = this.#container.terminate();
      this.duty.halt(); // the SDK ends when its polls have returned
      await terminated;
    }
    const recreation = this.#recreationOf(end);
    if (recreation !== null) {
      this.#options.log.info("worker_recreated", { workerId: this.workerId, reason: recreation });
    }
    this.duty.end(end);
    await this.#container.clearAway();
  }

  #recreationOf(end: LifeEnd | null): Recreation | null {
    const { wasReady, exit, assignment } = this.#container;
    return recreationOf(end, {
      isRefreshing: this.duty.facts().isRefreshing,
      isDraining: this.#isDraining,
      wasReady,
      exitCode: exit?.exitCode ?? null,
      env: assignment?.env,
    });
  }

  #recordFailure(failure: Failure): number {
    const record = { failuresInRow: this.#failuresInRow, readyForMs: this.#container.readyForMs() };
    const verdict = judgeFailure(failure, record, restartPolicy(this.#options.timing));
    this.#failuresInRow = verdict.failuresInRow;
    this.#standing.failed(verdict.failuresInRow);
    const { state, detail } = verdict;
    this.#options.log.warn("worker_failed", { workerId: this.workerId, state, reason: detail });
    const { note } = this.#preparation;
    if (!this.#isDraining) this.#standing.become(state, note === undefined ? detail : `${detail}. ${note}`);
    return verdict.delayMs;
  }

  async #remove(signal: AbortSignal): Promise<void> {
    for (let failures = 1; !signal.aborted; failures += 1) {
      this.duty.lose("The worker was removed.");
      if (await this.#container.remove()) {
        this.#options.log.info("worker_removed", { workerId: this.workerId });
        return;
      }
      await this.#wake.pause(
        restartDelayMs(failures, restartPolicy(this.#options.timing)),
        () => signal.aborted,
      );
    }
  }

  // Small parts

  /** What failed before it was ready for so long is no reason for what comes. */
  #forgiveIfHealthy(): void {
    if (this.#container.readyForMs() >= this.#options.timing.healthyMs) this.#standing.forgive();
  }

  #becomeReady(how: string): void {
    this.#container.noteReady();
    this.#standing.startTimes.note("ready");
    this.#options.log.info("worker_ready", { workerId: this.workerId, how });
    if (!this.#isDraining) this.#standing.become("ready");
    this.#changed();
  }

  #changed(isWithdrawn = false): void {
    this.#options.logs.noteJobs(this.workerId, this.duty.jobIds());
    this.duty.changed();
    this.#wake.wake();
    this.#options.onSlotsChange(this.assignment.endpointId, isWithdrawn);
  }

  #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    return this.#wake.pause(delayMs, () => this.#isDraining || signal.aborted);
  }
}

function stateOf({ wasReady, isFrozen }: AdoptedWorker): WorkerState {
  if (isFrozen) return "standby";
  return wasReady ? "ready" : "starting";
}
