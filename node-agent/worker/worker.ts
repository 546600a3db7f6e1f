/**
 * The life of one worker on this host:
 *
 *   pulling ──► starting ──► ready ──► stopping ──► gone
 *                  ▲           │ exit, start limit, unhealthy
 *                  └─ back-off ◄┘ (crash_looping, unhealthy)
 *
 * A ready worker may be put on standby, which is frozen; it is starting again until its next poll.
 *
 * Each start is made of what the edge said last. While that is a problem, nothing is started (unhealthy).
 *
 * One loop owns the container. Everything else only changes facts and wakes the loop,
 * which asks `judgeLife` what they mean.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Assignment, AssignmentOutline, WorkerReport, WorkerState } from "../../src/contract/agent.ts";
import { ageMs } from "../age.ts";
import type { AttemptLedger } from "../journal/attempt-ledger.ts";
import type { WorkerExit } from "../runtime/runtime.ts";
import type { ReceivedBody } from "../worker-server/body.ts";
import type { Poll } from "../worker-server/poll.ts";
import type { WorkerSession } from "../worker-server/worker-server.ts";
import { type AdoptedWorker, Container, type ContainerOptions } from "./container.ts";
import { failureOf } from "./failure.ts";
import { judgeLife, type LifeEnd, type LifeFacts } from "./life.ts";
import { Preparation } from "./preparation.ts";
import { describeFailure, type Failure, judgeFailure, restartDelayMs, restartPolicy } from "./restart.ts";
import { Standby } from "./standby.ts";
import { Standing } from "./standing.ts";
import { Wake } from "./wake.ts";
import { WorkerJobs } from "./worker-jobs.ts";

export type WorkerOptions = ContainerOptions & {
  readonly ledger: AttemptLedger;
  /** `isWithdrawn`: a worker takes no jobs any more, so its slots must not be offered a moment longer. */
  readonly onSlotsChange: (endpointId: string, isWithdrawn: boolean) => void;
  /** `isNewState`: more than the detail has changed. */
  readonly onStateChange: (isNewState: boolean) => void;
  /** Other workers of the endpoint than before take requests now. */
  readonly onDoorsChange: (endpointId: string) => void;
};

export class Worker implements WorkerSession {
  readonly assignment: AssignmentOutline;
  readonly jobs: WorkerJobs;
  readonly #options: WorkerOptions;
  readonly #wake = new Wake();
  readonly #container: Container;
  readonly #standby: Standby;
  readonly #standing: Standing;
  readonly #preparation: Preparation;
  #isDraining = false;
  /** The container's life has ended, though its process may still ask for jobs. */
  #isOver = false;
  #isRefreshing = false;
  #unhealthyReason: string | null = null;
  #failuresInRow = 0;
  /** Since when the container could ask for a job and does not. */
  #silentSince: number | null = null;

  /** `record` is that of a container which runs already, from an earlier agent process. */
  constructor(assignment: AssignmentOutline, options: WorkerOptions, record?: AdoptedWorker) {
    this.assignment = assignment;
    this.#options = options;
    this.#container = new Container(assignment, options, this.#wake, record);
    this.#standing = new Standing(record ? stateOf(record) : "pulling", options.onStateChange);
    this.#preparation = new Preparation({
      workerId: assignment.workerId,
      container: this.#container,
      standing: this.#standing,
      wake: this.#wake,
      log: options.log,
      policy: restartPolicy(options.timing),
      isDraining: () => this.#isDraining,
    });
    this.jobs = new WorkerJobs({
      ledger: options.ledger,
      log: options.log,
      timing: options.timing,
      onChange: (isWithdrawn) => this.#changed(isWithdrawn),
      onRefresh: () => {
        this.#isRefreshing = true;
        this.#changed(true);
      },
    });
    const { workerId, jobs } = this;
    this.#standby = new Standby({ workerId, jobs, log: options.log, container: this.#container });
  }

  // What there is

  get workerId(): string {
    return this.assignment.workerId;
  }

  get token(): string {
    return this.#container.token;
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

  /** Free slots that may be offered to the edge. */
  freeSlots(): number {
    return this.#takesNewJobs() ? this.jobs.freeSlots() : 0;
  }

  /** How many jobs that come now would start soon. A worker between two polls gets them with the next. */
  room(): number {
    if (!this.#takesNewJobs()) return 0;
    return this.jobs.isEmpty() ? Number.POSITIVE_INFINITY : this.jobs.freeSlots();
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

  // Told by the container

  take(poll: Poll, wish: number, hasJobInProgress: boolean | null): void {
    if (!this.#takesJobs()) return this.jobs.holdOff(poll, this.#pollHoldMs());
    if (!this.#container.hasTaken) this.#becomeReady();
    this.jobs.take(poll, wish, hasJobInProgress, this.#pollHoldMs());
  }

  stopPoll(poll: Poll): void {
    this.jobs.stopPoll(poll, this.#pollHoldMs());
  }

  drop(poll: Poll): void {
    this.jobs.drop(poll);
  }

  ping(jobIds: ReadonlySet<string>, unhealthyReason: string | null): void {
    if (unhealthyReason === null) return this.jobs.ping(jobIds);
    this.#unhealthyReason = `reported itself unhealthy: ${unhealthyReason}`;
    this.#forgiveIfHealthy();
    if (!this.#isDraining) this.#standing.become("unhealthy", this.#unhealthyReason);
    this.#changed(true);
  }

  result(jobId: string, body: ReceivedBody): Promise<void> {
    return this.jobs.result(jobId, body);
  }

  chunk(jobId: string, body: ReceivedBody): void {
    this.jobs.chunk(jobId, body);
  }

  // The loop

  /** Keeps the worker running until it is drained; then nothing of it is left. Ends early when aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#wake.wakeOnAbort(signal);
    if (this.#container.isStarted) void this.#noteImage();
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

  async #launch(): Promise<Failure | null> {
    this.#isRefreshing = false;
    this.#isOver = false;
    this.#unhealthyReason = null;
    this.#silentSince = null;
    // A failing worker is called so until it takes jobs again.
    const { state } = this.#standing;
    if (state !== "crash_looping" && state !== "unhealthy") this.#standing.become("starting");
    const refusal = await this.#container.launch();
    if (refusal) return refusal;
    this.#standing.startTimes.note("containerStarted");
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
    const { hasTaken, exit, isFrozen } = this.#container;
    const couldAsk = hasTaken && !isFrozen && this.jobs.isEmpty() && !this.jobs.isAsking();
    this.#silentSince = couldAsk ? (this.#silentSince ?? performance.now()) : null;
    return {
      hasExited: exit !== null,
      isDraining: this.#isDraining,
      isRefreshing: this.#isRefreshing,
      needsHardStop: this.jobs.needsHardStop(),
      isStandby: this.#standby.isWanted && this.#unhealthyReason === null,
      isFrozen,
      isQuiet: this.jobs.isEmpty(),
      hasTaken: hasTaken || this.#unhealthyReason !== null,
      runsForMs: this.#container.runsForMs(),
      startLimitMs: this.assignment.startLimitMs,
      silentForMs: this.#silentSince === null ? 0 : Math.max(1, ageMs(this.#silentSince)),
      silenceLimitMs: this.#options.timing.silenceLimitMs,
      isMute: this.jobs.isMute(),
    };
  }

  async #failureOf(end: LifeEnd | null): Promise<Failure | null> {
    if (end === "standby_failed") {
      return { kind: "start_refused", reason: this.#standby.fault, lastLine: undefined };
    }
    if (end !== "exited") {
      const limits = { startLimitMs: this.assignment.startLimitMs, ...this.#options.timing };
      const failure = failureOf(end, limits);
      if (!failure) return null;
      this.jobs.loseAll(`The worker was ended: it ${failure.reason}`);
      return { ...failure, lastLine: await this.#container.lastLine() };
    }
    // What it posted last may still be on its way through the sockets.
    await delay(this.#options.timing.exitSettleMs);
    const lastLine = await this.#container.lastLine();
    const reason = this.#container.exit?.reason ?? "exited";
    const words = describeFailure({ reason, lastLine });
    this.jobs.loseAll(`The worker ended before the job had a result: ${words}`);
    if (this.#isRefreshing || this.#isDraining) return null;
    if (this.#unhealthyReason === null) return { kind: "exited", reason, lastLine };
    return { kind: "reported_unhealthy", reason: this.#unhealthyReason, lastLine };
  }

  async #clearAway(end: LifeEnd | null): Promise<void> {
    this.#forgiveIfHealthy();
    this.#isOver = true; // before its polls return: the next ones would take what waits for its successor
    if (end === "drained" && !this.#container.isFrozen) {
      const terminated = this.#container.terminate();
      this.jobs.releasePolls(); // the SDK ends when its polls have returned
      await terminated;
    }
    if (end === "hard_stop") this.jobs.forgetInside("The worker was stopped.");
    if (end === "hard_stop" || end === "refresh") {
      this.#options.log.info("worker_recreated", { workerId: this.workerId, reason: end });
    }
    this.jobs.releasePolls();
    await this.#container.clearAway();
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
      this.jobs.loseAll("The worker was removed.");
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

  #becomeReady(): void {
    this.#container.noteFirstTake();
    this.#standing.startTimes.note("ready");
    this.#options.log.info("worker_ready", { workerId: this.workerId });
    if (!this.#isDraining) this.#standing.become("ready");
    this.#changed();
  }

  #takesJobs(): boolean {
    return this.#container.isAlive && !this.#isOver && this.#unhealthyReason === null;
  }

  #takesNewJobs(): boolean {
    return (
      this.#takesJobs() &&
      !this.#standby.isOn &&
      !this.#isDraining &&
      !this.#isRefreshing &&
      !this.jobs.hasOverstayed()
    );
  }

  #pollHoldMs(): number {
    const { pollHoldMs, drainPollHoldMs } = this.#options.timing;
    return this.#isDraining ? drainPollHoldMs : pollHoldMs;
  }

  #changed(isWithdrawn = false): void {
    this.#options.logs.noteJobs(this.workerId, this.jobs.idsInside());
    this.#wake.wake();
    this.#options.onSlotsChange(this.assignment.endpointId, isWithdrawn);
  }

  #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    return this.#wake.pause(delayMs, () => this.#isDraining || signal.aborted);
  }
}

function stateOf({ hasTaken, isFrozen }: AdoptedWorker): WorkerState {
  if (isFrozen) return "standby";
  return hasTaken ? "ready" : "starting";
}
