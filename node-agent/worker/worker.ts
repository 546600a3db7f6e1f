/**
 * The life of one worker on this host:
 *
 *   pulling ──► starting ──► ready ──► stopping ──► gone
 *                  ▲           │ exit, start limit, unhealthy
 *                  └─ back-off ◄┘ (crash_looping, unhealthy)
 *
 * Each start is made of what the edge said last. While that is a problem, nothing is started (unhealthy).
 *
 * One loop owns the container. Everything else only changes facts and wakes the loop,
 * which asks `judgeLife` what they mean.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Assignment, AssignmentOutline, WorkerReport, WorkerState } from "../../src/contract/agent.ts";
import type { AttemptLedger } from "../journal/attempt-ledger.ts";
import type { WorkerRecord } from "../journal/journal.ts";
import type { WorkerExit } from "../runtime/runtime.ts";
import type { ReceivedBody } from "../worker-server/body.ts";
import type { Poll } from "../worker-server/poll.ts";
import type { WorkerSession } from "../worker-server/worker-server.ts";
import { Container, type ContainerOptions } from "./container.ts";
import { judgeLife, type LifeEnd } from "./life.ts";
import {
  describeFailure,
  type Failure,
  judgeFailure,
  restartDelayMs,
  type RestartPolicy,
} from "./restart.ts";
import { StartTimes } from "./start-times.ts";
import { Wake } from "./wake.ts";
import { WorkerJobs } from "./worker-jobs.ts";

export type WorkerOptions = ContainerOptions & {
  readonly ledger: AttemptLedger;
  /** `isWithdrawn`: a worker takes no jobs any more, so its slots must not be offered a moment longer. */
  readonly onSlotsChange: (endpointId: string, isWithdrawn: boolean) => void;
  /** `isNewState`: more than the detail has changed. */
  readonly onStateChange: (isNewState: boolean) => void;
};

const DETAIL_MAX_LENGTH = 2_000;

export class Worker implements WorkerSession {
  readonly assignment: AssignmentOutline;
  readonly jobs: WorkerJobs;
  readonly #options: WorkerOptions;
  readonly #wake = new Wake();
  readonly #container: Container;
  readonly #startTimes = new StartTimes();
  #state: WorkerState;
  #detail: string | undefined;
  #isDraining = false;
  /** The container's life has ended, though its process may still ask for jobs. */
  #isOver = false;
  #isRefreshing = false;
  /** The edge has said something new since the last try to prepare a start. */
  #isRenewed = false;
  /** Its start waits for a problem to be solved. */
  #isWithheld = false;
  #unhealthyReason: string | null = null;
  #failuresInRow = 0;

  /** `record` is that of a container which runs already, from an earlier agent process. */
  constructor(assignment: AssignmentOutline, options: WorkerOptions, record?: WorkerRecord) {
    this.assignment = assignment;
    this.#options = options;
    this.#container = new Container(assignment, options, this.#wake, record);
    this.#state = record ? (record.hasTaken ? "ready" : "starting") : "pulling";
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
  }

  // What there is

  get workerId(): string {
    return this.assignment.workerId;
  }

  get token(): string {
    return this.#container.token;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  report(): WorkerReport {
    const { workerId, endpointId, revision } = this.assignment;
    const report = { workerId, endpointId, revision, state: this.#state, ago: this.#startTimes.ago() };
    return this.#detail === undefined ? report : { ...report, detail: this.#detail };
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
    if (!this.#container.renew(assignment)) return;
    this.#isRenewed = true;
    this.#wake.wake();
  }

  exited(exit: WorkerExit): void {
    this.#container.noteExit(exit);
    this.#changed(true);
  }

  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#options.log.info("worker_draining", { workerId: this.workerId });
    this.#setState("stopping");
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
    if (!this.#isDraining) this.#setState("unhealthy", this.#unhealthyReason);
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
    let mayGoOn = this.#container.isStarted || (await this.#prepare(signal));
    while (mayGoOn && !signal.aborted) {
      const refusal = this.#container.isStarted ? null : await this.#launch();
      const end = refusal ? null : await this.#liveUntilEnd(signal);
      if (signal.aborted) return;
      const failure = refusal ?? (await this.#failureOf(end));
      await this.#clearAway(end);
      if (failure) await this.#pause(this.#recordFailure(failure), signal);
      mayGoOn = await this.#untilStartable(signal);
      if (mayGoOn && refusal) mayGoOn = await this.#prepare(signal); // its image may be gone
    }
    await this.#remove(signal);
  }

  async #prepare(signal: AbortSignal): Promise<boolean> {
    for (let failures = 1; await this.#untilStartable(signal); failures += 1) {
      this.#isRenewed = false;
      const preparing = this.#container.prepare((detail) => {
        if (!this.#startTimes.has("pullStarted")) this.#tellOfPull("image_pull_started");
        this.#startTimes.note("pullStarted");
        this.#pulling(detail);
      });
      const outcome = await this.#unlessDrained(preparing, signal);
      if (outcome === "called_off") return false;
      if (outcome.kind === "prepared") {
        if (this.#startTimes.has("pullStarted")) {
          this.#startTimes.note("pullEnded");
          this.#tellOfPull("image_pull_ended");
        }
        return !this.#isDraining;
      }
      const delayMs = restartDelayMs(failures, this.#restartPolicy());
      this.#options.log.warn("worker_prepare_failed", { workerId: this.workerId, reason: outcome.detail });
      this.#pulling(`${outcome.detail}; tries again in ${Math.ceil(delayMs / 1_000)} s`);
      await this.#wake.pause(delayMs, () => this.#isDraining || this.#isRenewed || signal.aborted);
      if (this.#isRenewed) failures = 0;
    }
    return false;
  }

  /** Waits until it is known what to start and nothing speaks against it. False when the worker shall not start. */
  async #untilStartable(signal: AbortSignal): Promise<boolean> {
    while (!this.#isDraining && !signal.aborted) {
      const { assignment } = this.#container;
      if (assignment && assignment.problem === undefined) {
        if (this.#isWithheld) this.#setState("starting");
        this.#isWithheld = false;
        return true;
      }
      if (assignment?.problem !== undefined) this.#withhold(assignment.problem);
      await this.#wake.wait(null);
    }
    return false;
  }

  #withhold(problem: string): void {
    if (this.#isWithheld && this.#detail === problem) return;
    this.#isWithheld = true;
    this.#options.log.warn("worker_start_withheld", { workerId: this.workerId, reason: problem });
    this.#setState("unhealthy", problem);
  }

  async #launch(): Promise<Failure | null> {
    this.#isRefreshing = false;
    this.#isOver = false;
    this.#unhealthyReason = null;
    // A failing worker is called so until it takes jobs again.
    if (this.#state !== "crash_looping" && this.#state !== "unhealthy") this.#setState("starting");
    const refusal = await this.#container.launch();
    if (!refusal) this.#startTimes.note("containerStarted");
    return refusal;
  }

  async #liveUntilEnd(signal: AbortSignal): Promise<LifeEnd | null> {
    while (!signal.aborted) {
      const verdict = judgeLife({
        hasExited: this.#container.exit !== null,
        isDraining: this.#isDraining,
        isRefreshing: this.#isRefreshing,
        needsHardStop: this.jobs.needsHardStop(),
        isQuiet: this.jobs.isEmpty(),
        hasTaken: this.#container.hasTaken || this.#unhealthyReason !== null,
        runsForMs: this.#container.runsForMs(),
        startLimitMs: this.assignment.startLimitMs,
      });
      if (verdict.kind === "end") return verdict.because;
      await this.#wake.wait(verdict.forMs);
    }
    return null;
  }

  async #failureOf(end: LifeEnd | null): Promise<Failure | null> {
    if (end === "start_limit") {
      const seconds = Math.round(this.assignment.startLimitMs / 1_000);
      const reason = `did not ask for a job within ${seconds} s of its start`;
      return { kind: "start_limit_exceeded", reason, lastLine: await this.#container.lastLine() };
    }
    if (end !== "exited") return null;
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
    this.#isOver = true; // before its polls return: the next ones would take what waits for its successor
    if (end === "drained") {
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
    const verdict = judgeFailure(failure, record, this.#restartPolicy());
    this.#failuresInRow = verdict.failuresInRow;
    const { state, detail } = verdict;
    this.#options.log.warn("worker_failed", { workerId: this.workerId, state, reason: detail });
    if (!this.#isDraining) this.#setState(state, detail);
    return verdict.delayMs;
  }

  async #remove(signal: AbortSignal): Promise<void> {
    for (let failures = 1; !signal.aborted; failures += 1) {
      this.jobs.loseAll("The worker was removed.");
      if (await this.#container.remove()) {
        this.#options.log.info("worker_removed", { workerId: this.workerId });
        return;
      }
      await this.#wake.pause(restartDelayMs(failures, this.#restartPolicy()), () => signal.aborted);
    }
  }

  // Small parts

  #becomeReady(): void {
    this.#container.noteFirstTake();
    this.#startTimes.note("ready");
    this.#options.log.info("worker_ready", { workerId: this.workerId });
    if (!this.#isDraining) this.#setState("ready");
    this.#changed();
  }

  #takesJobs(): boolean {
    return this.#container.isAlive && !this.#isOver && this.#unhealthyReason === null;
  }

  #takesNewJobs(): boolean {
    return this.#takesJobs() && !this.#isDraining && !this.#isRefreshing && !this.jobs.hasOverstayed();
  }

  #pollHoldMs(): number {
    const { pollHoldMs, drainPollHoldMs } = this.#options.timing;
    return this.#isDraining ? drainPollHoldMs : pollHoldMs;
  }

  #restartPolicy(): RestartPolicy {
    const { restartBaseMs: baseMs, restartCapMs: capMs, healthyMs } = this.#options.timing;
    return { baseMs, capMs, healthyMs };
  }

  #tellOfPull(event: "image_pull_started" | "image_pull_ended"): void {
    const image = this.#container.assignment?.imageName ?? "";
    this.#options.log.info(event, { workerId: this.workerId, image });
  }

  #pulling(detail: string): void {
    if (!this.#container.isStarted && !this.#isDraining) this.#setState("pulling", detail);
  }

  #setState(state: WorkerState, detail?: string): void {
    const isNewState = state !== this.#state;
    if (!isNewState && detail === this.#detail) return;
    this.#state = state;
    this.#detail = detail?.slice(0, DETAIL_MAX_LENGTH);
    this.#options.onStateChange(isNewState);
  }

  #changed(isWithdrawn = false): void {
    this.#options.logs.noteJobs(this.workerId, this.jobs.idsInside());
    this.#wake.wake();
    this.#options.onSlotsChange(this.assignment.endpointId, isWithdrawn);
  }

  #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    return this.#wake.pause(delayMs, () => this.#isDraining || signal.aborted);
  }

  /** A pull cannot be called off, but nobody has to wait for it. */
  async #unlessDrained<T>(work: Promise<T>, signal: AbortSignal): Promise<T | "called_off"> {
    let isOver = false;
    void work.finally(() => {
      isOver = true;
      this.#wake.wake();
    });
    while (!isOver) {
      if (this.#isDraining || signal.aborted) return "called_off";
      await this.#wake.wait(null);
    }
    return work;
  }
}
