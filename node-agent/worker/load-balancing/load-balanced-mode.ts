import type { Assignment } from "../../../src/contract/agent/agent.ts";
import { ageMs } from "../../async/age.ts";
import type { Admission } from "../admission.ts";
import { readServerSettings, type ServerSettings } from "./server-settings.ts";
import type { AgentLog } from "../../log.ts";
import type { ListeningSocket, Runtime } from "../../runtime/runtime.ts";
import type { Timing } from "../../timing.ts";
import type { AdmissionGate, WorkerMode, ModeFacts, WorkerContext } from "../mode.ts";
import type { LifeEnd } from "../lifecycle/worker-life.ts";
import type { Failure } from "../lifecycle/restart.ts";
import { type Health, UNPROBED } from "./health.ts";
import type { ServerLocation } from "./health-probe.ts";
import { HealthWatch } from "./health-watch.ts";
import { describeAnswer } from "./health-message.ts";
import { IdleCalls } from "./idle-calls.ts";

export type LoadBalancedModeOptions = {
  readonly runtime: Runtime;
  readonly log: AgentLog;
  readonly timing: Timing;
  readonly onAdmissionChange: (endpointId: string) => void;
};

/** A request that is inside. */
type ActiveRequest = { readonly evict: () => void };

/**
 * Serve requests: the container's own server takes them, and is ready once it answers 200 to a health probe.
 *
 * V1  The door is open only while the last word on the container's health is that it is healthy; nothing of that
 *     outlasts the container, or the cold.
 * V2  Who has entered is waited for before the container is frozen or drained, though not for ever.
 */
export class LoadBalancedMode implements WorkerMode, AdmissionGate {
  readonly calls: IdleCalls;
  readonly queue = null;
  readonly gate: AdmissionGate = this;
  readonly #worker: WorkerContext;
  readonly #options: LoadBalancedModeOptions;
  #watch: HealthWatch | null = null;
  #health: Health = UNPROBED;
  #location: ServerLocation | null = null;
  #wasOpen = false;
  /** Requests inside; each container has a set of its own. */
  #requests = new Set<ActiveRequest>();
  /** Since when it runs and is not healthy. */
  #downSince: number | null = null;
  /** What is wrong, in words for people. */
  #issue = "it was not asked for its health yet";
  /** Time for those inside, since nobody is let in any more. */
  #grace: { readonly timer: NodeJS.Timeout; isOver: boolean } | null = null;
  #sockets: { readonly at: number; readonly found: readonly ListeningSocket[] | null } | null = null;
  #hasLoggedPort = false;

  constructor(worker: WorkerContext, options: LoadBalancedModeOptions) {
    this.#worker = worker;
    this.#options = options;
    const { drainPollHoldMs, pollHoldMs } = options.timing;
    this.calls = new IdleCalls(() => (worker.isDraining() ? drainPollHoldMs : pollHoldMs));
  }

  // The door

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

  // What there is

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

  problemOf({ env }: Assignment): string | undefined {
    const read = readServerSettings(env);
    return read.kind === "problem" ? read.problem : undefined;
  }

  async planServer({ env }: Assignment): Promise<ServerSettings> {
    const read = readServerSettings(env);
    if (read.kind === "problem") throw new Error(read.problem);
    return { ...read.settings, ...(await this.#options.runtime.portsFor(read.settings)) };
  }

  jobIds(): readonly string[] {
    return [];
  }

  failureOf(end: LifeEnd | null): Omit<Failure, "lastLine"> | null {
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

  // Told by the worker's life

  reset(): void {
    this.#requests = new Set();
    this.#downSince = null;
    this.#sockets = null;
    this.#hasLoggedPort = false;
  }

  onRunning(): void {
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

  beforeFreeze(): void {
    this.#stopWatch();
    for (const { evict } of [...this.#requests]) evict(); // nothing of them would go on in the cold
  }

  halt(): void {
    this.#stopWatch();
    this.calls.endPolls();
  }

  end(): void {
    this.halt();
    this.onChanged();
  }

  loseJobs(): void {}

  close(): void {
    this.halt();
    clearTimeout(this.#grace?.timer);
  }

  onChanged(): void {
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
    if (server === null) throw new Error("It is not known where its server listens.");
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
    this.onChanged();
    const sockets = await this.#findSockets(health, probedForMs);
    if (this.#isWatchedBy(watch)) this.#isNotHealthy(sockets);
  }

  /** What is said of a container that has ended is said by others. */
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
    onChange(); // its time begins to run
  }

  #reportIssue(isInitializing: boolean): void {
    const { outline, container, status } = this.#worker;
    if (!container.wasReady) {
      // A failing worker is called so until it is ready again.
      if (status.state === "starting") status.setState("starting", this.#issue);
      return;
    }
    if (!this.#health.isDown) return;
    if (status.state === "ready")
      this.#options.log.warn("worker_health_lost", { workerId: outline.workerId, reason: this.#issue });
    status.setState(isInitializing ? "starting" : "unhealthy", this.#issue);
  }

  /** What the container listens on, when nobody answers where its server should. */
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
