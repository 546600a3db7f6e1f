/**
 * The life of one worker on this host:
 *
 *   pulling ──► starting ──► ready ──► stopping ──► gone
 *                  ▲           │ exit, start limit, unhealthy
 *                  └─ back-off ◄┘ (crash_looping, unhealthy)
 *
 * One loop owns the container. Everything else only changes facts and wakes the loop,
 * which asks `judgeLife` what they mean.
 */
import { randomBytes } from "node:crypto";
import type { Assignment, WorkerReport, WorkerState } from "../../src/contract/agent.ts";
import type { AttemptLedger } from "../journal/attempt-ledger.ts";
import type { Journal, WorkerRecord } from "../journal/journal.ts";
import type { AgentLog } from "../log.ts";
import type { Runtime, WorkerExit, WorkerSpec } from "../runtime/runtime.ts";
import type { Timing } from "../timing.ts";
import type { ReceivedBody } from "../worker-server/body.ts";
import type { Poll } from "../worker-server/poll.ts";
import type { WorkerSession } from "../worker-server/worker-server.ts";
import { judgeLife, type LifeEnd } from "./life.ts";
import { describeFailure, type Failure, judgeFailure, restartDelayMs } from "./restart.ts";
import { Wake } from "./wake.ts";
import { WorkerJobs } from "./worker-jobs.ts";

export type WorkerOptions = {
  readonly runtime: Runtime;
  readonly journal: Journal;
  readonly ledger: AttemptLedger;
  readonly log: AgentLog;
  readonly timing: Timing;
  readonly environmentOf: (assignment: Assignment, token: string) => Promise<Record<string, string>>;
  /** Whether a call to the edge is open that may still bring this worker a job. */
  readonly mayGetJob: (workerId: string) => boolean;
  readonly onSlotsChange: (endpointId: string) => void;
  /** `isNewState`: more than the detail has changed. */
  readonly onStateChange: (isNewState: boolean) => void;
};

const DETAIL_MAX_LENGTH = 2_000;
/** Time for the runtime to tell of an exit that was asked for, before the next start. */
const EXIT_NEWS_MS = 2_000;

export class Worker implements WorkerSession {
  readonly assignment: Assignment;
  readonly jobs: WorkerJobs;
  readonly #options: WorkerOptions;
  readonly #wake = new Wake();
  #token: string;
  #state: WorkerState;
  #detail: string | undefined;
  #exit: WorkerExit | null = null;
  #isRunning: boolean;
  #isDraining = false;
  #isRefreshing = false;
  #unhealthyReason: string | null = null;
  #hasTaken: boolean;
  #failuresInRow = 0;
  #startedAt = Date.now();
  #readyAt: number | null = null;

  /** `record` is that of a container which runs already, from an earlier agent process. */
  constructor(assignment: Assignment, options: WorkerOptions, record?: WorkerRecord) {
    this.assignment = assignment;
    this.#options = options;
    this.#token = record?.token ?? newToken();
    this.#hasTaken = record?.hasTaken ?? false;
    this.#isRunning = record !== undefined;
    this.#readyAt = this.#hasTaken ? Date.now() : null;
    this.#state = record ? (this.#hasTaken ? "ready" : "starting") : "pulling";
    this.jobs = new WorkerJobs({
      ledger: options.ledger,
      log: options.log,
      timing: options.timing,
      onChange: () => this.#changed(),
      onRefresh: () => {
        this.#isRefreshing = true;
        this.#changed();
      },
    });
  }

  // What there is

  get workerId(): string {
    return this.assignment.workerId;
  }

  get token(): string {
    return this.#token;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  report(): WorkerReport {
    const { workerId, endpointId, revision } = this.assignment;
    const report = { workerId, endpointId, revision, state: this.#state };
    return this.#detail === undefined ? report : { ...report, detail: this.#detail };
  }

  /** Free slots that may be offered to the edge. */
  freeSlots(): number {
    return this.#takesJobs() && !this.#isDraining && !this.#isRefreshing ? this.jobs.freeSlots() : 0;
  }

  /** Whether a job that comes now can still reach the container. */
  canAccept(): boolean {
    return this.#isRunning && this.#exit === null;
  }

  // Told by the runtime and by reconciling

  exited(exit: WorkerExit): void {
    if (!this.#isRunning) return;
    this.#exit = exit;
    this.#changed();
  }

  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#options.log.info("worker_draining", { workerId: this.workerId });
    this.#setState("stopping");
    this.#changed();
  }

  // Told by the container

  take(poll: Poll, wish: number, hasJobInProgress: boolean | null): void {
    if (!this.#takesJobs()) return this.jobs.holdOff(poll, this.#pollHoldMs());
    if (!this.#hasTaken) this.#becomeReady();
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
    this.#changed();
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
    let mayStart = this.#isRunning || (await this.#prepare(signal));
    while (mayStart && !signal.aborted) {
      const failure = this.#isRunning ? null : await this.#launch();
      const end = failure ? null : await this.#liveUntilEnd(signal);
      if (signal.aborted) return;
      if (end === "drained") await this.#stopGracefully();
      mayStart = await this.#settleEnd(end, failure, signal);
      if (mayStart && failure) mayStart = await this.#prepare(signal); // its image may be gone
    }
    if (!signal.aborted) await this.#remove(signal);
  }

  async #prepare(signal: AbortSignal): Promise<boolean> {
    const { runtime, timing, log } = this.#options;
    const spec = await this.#spec();
    for (let failures = 1; !this.#isDraining && !signal.aborted; failures += 1) {
      const preparing = runtime
        .prepare(spec, (detail) => this.#pulling(detail))
        .catch((error: unknown) => ({ kind: "failed" as const, detail: messageOf(error) }));
      const outcome = await this.#unlessDrained(preparing, signal);
      if (outcome === "called_off") return false;
      if (outcome.kind === "prepared") return !this.#isDraining;
      const delayMs = restartDelayMs(failures, { baseMs: timing.restartBaseMs, capMs: timing.restartCapMs });
      log.warn("worker_prepare_failed", { workerId: this.workerId, reason: outcome.detail });
      this.#pulling(`${outcome.detail}; tries again in ${Math.ceil(delayMs / 1_000)} s`);
      await this.#pause(delayMs, signal);
    }
    return false;
  }

  async #launch(): Promise<Failure | null> {
    this.#token = newToken(); // what is left of an earlier container cannot speak for this one
    this.#hasTaken = false;
    this.#readyAt = null;
    this.#exit = null;
    this.#isRefreshing = false;
    this.#unhealthyReason = null;
    this.#save();
    // A failing worker is called so until it takes jobs again.
    if (this.#state !== "crash_looping" && this.#state !== "unhealthy") this.#setState("starting");
    this.#startedAt = Date.now();
    this.#isRunning = true;
    try {
      await this.#options.runtime.start(await this.#spec());
      this.#options.log.info("worker_started", { workerId: this.workerId });
      return null;
    } catch (error) {
      this.#isRunning = false;
      return { kind: "start_refused", reason: messageOf(error), lastLine: undefined };
    }
  }

  async #liveUntilEnd(signal: AbortSignal): Promise<LifeEnd | null> {
    while (!signal.aborted) {
      const verdict = judgeLife({
        hasExited: this.#exit !== null,
        isDraining: this.#isDraining,
        isRefreshing: this.#isRefreshing,
        needsHardStop: this.jobs.needsHardStop(),
        isQuiet: this.jobs.isEmpty() && !this.#options.mayGetJob(this.workerId),
        hasTaken: this.#hasTaken || this.#unhealthyReason !== null,
        runsForMs: Date.now() - this.#startedAt,
        startLimitMs: this.assignment.startLimitMs,
      });
      if (verdict.kind === "end") return verdict.because;
      await this.#wake.wait(verdict.forMs);
    }
    return null;
  }

  /** Clears up after a container. True when another one shall be started. */
  async #settleEnd(end: LifeEnd | null, refusal: Failure | null, signal: AbortSignal): Promise<boolean> {
    const failure = refusal ?? (await this.#failureOf(end));
    if (end === "hard_stop") this.jobs.forgetInside("The worker was stopped.");
    await this.#stopHard();
    if (failure) {
      const delayMs = this.#recordFailure(failure);
      await this.#pause(delayMs, signal);
    } else if (end !== "drained") {
      this.#options.log.info("worker_recreated", { workerId: this.workerId, reason: end });
    }
    return !this.#isDraining;
  }

  async #failureOf(end: LifeEnd | null): Promise<Failure | null> {
    if (end === "start_limit") {
      const seconds = Math.round(this.assignment.startLimitMs / 1_000);
      const reason = `did not ask for a job within ${seconds} s of its start`;
      return { kind: "start_limit_exceeded", reason, lastLine: await this.#lastLine() };
    }
    if (end !== "exited") return null;
    // What it posted last may still be on its way through the sockets.
    await new Promise((resolve) => setTimeout(resolve, this.#options.timing.exitSettleMs));
    const lastLine = await this.#lastLine();
    const reason = this.#exit?.reason ?? "exited";
    this.jobs.loseAll(
      `The worker ended before the job had a result: ${describeFailure({ reason, lastLine })}`,
    );
    if (this.#isRefreshing) return null;
    if (this.#unhealthyReason === null) return { kind: "exited", reason, lastLine };
    return { kind: "reported_unhealthy", reason: this.#unhealthyReason, lastLine };
  }

  #recordFailure(failure: Failure): number {
    const { timing, log } = this.#options;
    const verdict = judgeFailure(
      failure,
      {
        failuresInRow: this.#failuresInRow,
        readyForMs: this.#readyAt === null ? 0 : Date.now() - this.#readyAt,
      },
      { baseMs: timing.restartBaseMs, capMs: timing.restartCapMs, healthyMs: timing.healthyMs },
    );
    this.#failuresInRow = verdict.failuresInRow;
    log.warn("worker_failed", { workerId: this.workerId, state: verdict.state, reason: verdict.detail });
    if (!this.#isDraining) this.#setState(verdict.state, verdict.detail);
    return verdict.delayMs;
  }

  // Stopping

  /** The worker has no job. Its polls are answered, so that it notices its SIGTERM soon. */
  async #stopGracefully(): Promise<void> {
    const stopped = this.#options.runtime.stop(this.workerId, this.#options.timing.drainGraceMs);
    this.jobs.releasePolls();
    await stopped.catch(() => {}); // removing it says what is wrong
  }

  async #stopHard(): Promise<void> {
    const wasRunning = this.#isRunning;
    this.jobs.releasePolls();
    try {
      await this.#options.runtime.stop(this.workerId, 0);
      if (wasRunning) await this.#untilExitIsKnown();
      await this.#options.runtime.remove(this.workerId);
    } catch (error) {
      this.#options.log.error("worker_remove_failed", { workerId: this.workerId, reason: messageOf(error) });
    }
    this.#isRunning = false;
  }

  /** So that the news of this container's end is not taken for the end of its successor. */
  async #untilExitIsKnown(): Promise<void> {
    const deadline = Date.now() + EXIT_NEWS_MS;
    while (this.#exit === null && Date.now() < deadline) await this.#wake.wait(deadline - Date.now());
  }

  async #remove(signal: AbortSignal): Promise<void> {
    const { runtime, journal, log, timing } = this.#options;
    this.jobs.loseAll("The worker was removed.");
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        await runtime.remove(this.workerId);
        journal.removeWorker(this.workerId);
        log.info("worker_removed", { workerId: this.workerId });
        return;
      } catch (error) {
        log.error("worker_remove_failed", { workerId: this.workerId, reason: messageOf(error) });
        const delayMs = restartDelayMs(failures, { baseMs: timing.restartBaseMs, capMs: timing.restartCapMs });
        await this.#wake.pause(delayMs, () => signal.aborted);
      }
    }
  }

  // Small parts

  async #spec(): Promise<WorkerSpec> {
    const { workerId, endpointId, revision, imageName, dockerArgs, containerDiskInGb, gpuIndexes, registryAuth } =
      this.assignment;
    const env = await this.#options.environmentOf(this.assignment, this.#token);
    return {
      workerId,
      endpointId,
      revision,
      imageName,
      dockerArgs,
      env,
      containerDiskInGb,
      gpuIndexes,
      registryAuth,
    };
  }

  #becomeReady(): void {
    this.#hasTaken = true;
    this.#readyAt = Date.now();
    this.#save();
    this.#options.log.info("worker_ready", { workerId: this.workerId });
    if (!this.#isDraining) this.#setState("ready");
    this.#changed();
  }

  #takesJobs(): boolean {
    return this.canAccept() && this.#unhealthyReason === null;
  }

  #pollHoldMs(): number {
    const { pollHoldMs, drainPollHoldMs } = this.#options.timing;
    return this.#isDraining ? drainPollHoldMs : pollHoldMs;
  }

  #save(): void {
    const record = { assignment: this.assignment, token: this.#token, hasTaken: this.#hasTaken };
    this.#options.journal.saveWorker(record);
  }

  #pulling(detail: string): void {
    if (!this.#isRunning && !this.#isDraining) this.#setState("pulling", detail);
  }

  #setState(state: WorkerState, detail?: string): void {
    const isNewState = state !== this.#state;
    if (!isNewState && detail === this.#detail) return;
    this.#state = state;
    this.#detail = detail?.slice(0, DETAIL_MAX_LENGTH);
    this.#options.onStateChange(isNewState);
  }

  #changed(): void {
    this.#wake.wake();
    this.#options.onSlotsChange(this.assignment.endpointId);
  }

  /** Tells the loop that `mayGetJob` may have changed. */
  reconsider(): void {
    this.#wake.wake();
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

  async #lastLine(): Promise<string | undefined> {
    const lines = await this.#options.runtime.lastLines(this.workerId, 1).catch(() => []);
    return lines.at(-1);
  }
}

function newToken(): string {
  return randomBytes(24).toString("base64url");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
