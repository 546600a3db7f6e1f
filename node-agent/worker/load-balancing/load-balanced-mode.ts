import { ageMs, type Timing } from "../../core/timing.ts";
import type { Admission } from "../../link/admission.ts";
import type { AgentLog } from "../../core/log.ts";
import type { ListeningSocket, Runtime } from "../../runtime/interface/runtime.ts";
import type { ModeFacts, WorkerContext } from "../lifecycle/mode.ts";
import type { LifeEnd } from "../lifecycle/worker-life.ts";
import type { WorkerFailure } from "../lifecycle/restart.ts";
import { type Health, UNPROBED } from "./health.ts";
import type { ServerLocation } from "./health-probe.ts";
import { HealthWatch } from "./health-watch.ts";
import { describeAnswer } from "./health-message.ts";
import { IdleCalls } from "../../worker-server/poll.ts";

export type LoadBalancedModeOptions = {
  readonly runtime: Runtime;
  readonly log: AgentLog;
  readonly timing: Timing;
  readonly onAdmissionChange: (endpointId: string) => void;
};

type ActiveRequest = { readonly evict: () => void };

/**
 * Serves requests: the container's own server takes them, and is ready once it answers 200 to a health probe.
 *
 * V1  Requests are admitted only while the latest probe found the container healthy. A new or thawed container has
 *     to be probed again.
 * V2  Admitted requests are waited for, up to a limit, before the container is frozen or drained.
 */
export class LoadBalancedMode {
  readonly kind = "load-balanced";
  readonly calls: IdleCalls;
  readonly #worker: WorkerContext;
  readonly #options: LoadBalancedModeOptions;
  #watch: HealthWatch | null = null;
  #health: Health = UNPROBED;
  #location: ServerLocation | null = null;
  #wasOpen = false;
  /** Active requests; each container has its own set. */
  #requests = new Set<ActiveRequest>();
  /** Since when it runs and is not healthy. */
  #downSince: number | null = null;
  /** Why it is not healthy. */
  #issue = "it was not probed yet";
  /** The time that active requests have left once no more are admitted. */
  #grace: { readonly timer: NodeJS.Timeout; isOver: boolean } | null = null;
  #sockets: { readonly at: number; readonly found: readonly ListeningSocket[] | null } | null = null;
  #hasLoggedPort = false;

  constructor(worker: WorkerContext, options: LoadBalancedModeOptions) {
    this.#worker = worker;
    this.#options = options;
    const { drainPollHoldMs, pollHoldMs } = options.timing;
    this.calls = new IdleCalls(() => (worker.isDraining() ? drainPollHoldMs : pollHoldMs));
  }

  // Admission

  isOpen(): boolean {
    const { isAlive, acceptsWork } = this.#worker;
    return this.#health.isHealthy && this.#location !== null && isAlive() && acceptsWork();
  }

  admit(evict: () => void): Admission | null {
    if (this.#location === null || !this.isOpen()) return null;
    const { host, port } = this.#location;
    const requests = this.#requests;
    const request = { evict };
    requests.add(request);
    const leave = (): void => {
      const wasLast = requests.delete(request) && requests.size === 0;
      if (wasLast && this.#worker.isAlive()) this.#worker.onChange();
    };
    return { host, port, release: leave };
  }

  connectionFailed(): void {
    this.#watch?.probeNow();
  }

  connectionRefused(): void {
    this.#watch?.connectionRefused();
  }

  // State

  facts(): ModeFacts {
    return {
      isRefreshing: false,
      needsHardStop: false,
      isIdle: this.#requests.size === 0 || this.#grace?.isOver === true, // V2
      silentForMs: this.#downSince === null ? 0 : Math.max(1, ageMs(this.#downSince)),
      silenceLimitMs: this.#worker.outline.startLimitMs,
      hasLostResults: false,
      unhealthyReason: null,
    };
  }

  /** Why a container was ended that did not exit, to be read after "it"; null when that is no failure. */
  failureOf(end: LifeEnd | null): Omit<WorkerFailure, "lastLine"> | null {
    const limit = `${Math.round(this.#worker.outline.startLimitMs / 1_000)} s`;
    if (end === "start_limit") {
      const reason = `was not healthy within ${limit} of its start: ${this.#issue}`;
      return { kind: "start_limit_exceeded", reason };
    }
    if (end === "silent") {
      return { kind: "fell_silent", reason: `has not been healthy for ${limit}: ${this.#issue}` };
    }
    return null;
  }

  // Events of the worker's life

  reset(): void {
    this.#requests = new Set();
    this.#downSince = null;
    this.#sockets = null;
    this.#hasLoggedPort = false;
  }

  /** Probes the health of the container that runs now. */
  startProbing(): void {
    this.#stopWatch();
    const { wasReady } = this.#worker.container;
    if (wasReady) this.#downSince = performance.now();
    const watch: HealthWatch = new HealthWatch(
      { ...UNPROBED, wasHealthy: wasReady },
      {
        pauses: this.#options.timing,
        location: () => this.#findServer(),
        onProbed: async (health, place, probedForMs) => {
          if (this.#isWatchedBy(watch)) await this.#probed(watch, health, place, probedForMs);
        },
      },
    );
    this.#watch = watch;
    void watch.run();
  }

  /** The container is about to be frozen. */
  evictRequests(): void {
    this.#stopWatch();
    for (const { evict } of [...this.#requests]) evict();
  }

  /** Answers all polls and stops probing: the container ends, or is about to be thawed. */
  halt(): void {
    this.#stopWatch();
    this.calls.endPolls();
  }

  end(): void {
    this.halt();
    this.updateAdmission();
  }

  /** The agent ends, the container keeps running. */
  close(): void {
    this.halt();
    clearTimeout(this.#grace?.timer);
  }

  /** Notifies links when the worker begins or ceases to take requests. */
  updateAdmission(): void {
    this.#updateGrace();
    const isOpen = this.isOpen();
    if (isOpen === this.#wasOpen) return;
    this.#wasOpen = isOpen;
    this.#options.onAdmissionChange(this.#worker.outline.endpointId);
  }

  #updateGrace(): void {
    const { isAlive, acceptsWork, onChange } = this.#worker;
    if (!isAlive() || acceptsWork()) {
      clearTimeout(this.#grace?.timer);
      this.#grace = null;
    } else if (this.#grace === null) {
      const timer = setTimeout(() => {
        if (this.#grace) this.#grace.isOver = true;
        onChange();
      }, this.#options.timing.requestGraceMs);
      this.#grace = { timer: timer.unref(), isOver: false };
    }
  }

  // Health

  async #findServer(): Promise<ServerLocation> {
    const { container, outline } = this.#worker;
    const { server } = container;
    if (server === null) throw new Error("The port of its server is not known.");
    return { ...server, ...(await this.#options.runtime.locateServer(outline.workerId, server)) };
  }

  async #probed(
    watch: HealthWatch,
    health: Health,
    place: ServerLocation | null,
    probedForMs: number,
  ): Promise<void> {
    this.#health = health;
    this.#location = place;
    if (health.isHealthy) return this.#isHealthy();
    this.updateAdmission();
    const sockets = await this.#findSockets(health, probedForMs);
    if (this.#isWatchedBy(watch)) this.#isNotHealthy(sockets);
  }

  /** False once the container has ended, or another one is watched. */
  #isWatchedBy(watch: HealthWatch): boolean {
    return this.#watch === watch && this.#worker.isAlive();
  }

  #isHealthy(): void {
    const { outline, container, status, isDraining, markReady, onChange } = this.#worker;
    this.#downSince = null;
    if (!container.wasReady) {
      markReady(`answers 200 on ${this.#location?.healthPath ?? ""}`);
    } else if (status.state !== "ready" && !isDraining()) {
      this.#options.log.info("worker_health_regained", { workerId: outline.workerId });
      status.setState("ready");
    }
    if (!this.#wasOpen) onChange();
  }

  #isNotHealthy(sockets: readonly ListeningSocket[] | null): void {
    const { outline, container, isDraining, onChange } = this.#worker;
    const { answer } = this.#health;
    if (answer?.kind === "status") this.#worker.status.startTimes.record("runtimeStarted");
    if (answer === null || container.server === null) return;
    const isApart = this.#options.runtime.kind === "docker";
    this.#issue = describeAnswer(answer, { settings: container.server, sockets, isIsolated: isApart });
    if (!isDraining()) this.#reportIssue(answer.kind === "status" && answer.status === 204);
    if (sockets && sockets.length > 0 && !this.#hasLoggedPort) {
      this.#hasLoggedPort = true;
      this.#options.log.warn("worker_port_wrong", { workerId: outline.workerId, reason: this.#issue });
    }
    if (!container.wasReady || this.#downSince !== null) return;
    this.#downSince = performance.now();
    onChange(); // its time limit begins
  }

  #reportIssue(isInitializing: boolean): void {
    const { outline, container, status } = this.#worker;
    if (!container.wasReady) {
      // A failing worker keeps that state until it is ready again.
      if (status.state === "starting") status.setState("starting", this.#issue);
      return;
    }
    if (!this.#health.isDown) return;
    if (status.state === "ready")
      this.#options.log.warn("worker_health_lost", { workerId: outline.workerId, reason: this.#issue });
    status.setState(isInitializing ? "starting" : "unhealthy", this.#issue);
  }

  /** What the container listens on, when nothing listens on the expected port. */
  async #findSockets({ answer }: Health, probedForMs: number): Promise<readonly ListeningSocket[] | null> {
    const { portHintAfterMs } = this.#options.timing;
    if (answer?.kind !== "refused" || probedForMs < portHintAfterMs) return null;
    if (this.#sockets === null || ageMs(this.#sockets.at) >= portHintAfterMs) {
      const { workerId } = this.#worker.outline;
      const found = await this.#options.runtime.listening(workerId).catch(() => null);
      this.#sockets = { at: performance.now(), found };
    }
    return this.#sockets.found;
  }

  #stopWatch(): void {
    this.#watch?.stop();
    this.#watch = null;
    this.#health = UNPROBED; // V1
    this.#location = null;
    this.#downSince = null;
  }
}
