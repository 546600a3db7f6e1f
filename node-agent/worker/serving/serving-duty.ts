import type { Assignment } from "../../../src/contract/agent.ts";
import { ageMs } from "../../age.ts";
import type { Entry } from "../../direct/doors.ts";
import { readServerSettings, type ServerSettings } from "../../direct/server-settings.ts";
import type { AgentLog } from "../../log.ts";
import type { ListeningSocket, Runtime } from "../../runtime/runtime.ts";
import type { Timing } from "../../timing.ts";
import type { Door, Duty, DutyFacts, DutyPost } from "../duty.ts";
import type { LifeEnd } from "../life.ts";
import type { Failure } from "../restart.ts";
import { type Health, UNPROBED } from "./health.ts";
import type { ServerPlace } from "./health-probe.ts";
import { HealthWatch } from "./health-watch.ts";
import { describeAnswer } from "./health-words.ts";
import { IdleCalls } from "./idle-calls.ts";

export type ServingDutyOptions = {
  readonly runtime: Runtime;
  readonly log: AgentLog;
  readonly timing: Timing;
  readonly onDoorsChange: (endpointId: string) => void;
};

/** A request that is inside. */
type Visit = { readonly turnOut: () => void };

/**
 * Serve requests: the container's own server takes them, and is ready once it answers 200 to a health probe.
 *
 * V1  The door is open only while the last word on the container's health is that it is healthy; nothing of that
 *     outlasts the container, or the cold.
 * V2  Who has entered is waited for before the container is frozen or drained, though not for ever.
 */
export class ServingDuty implements Duty, Door {
  readonly calls: IdleCalls;
  readonly queue = null;
  readonly door: Door = this;
  readonly #post: DutyPost;
  readonly #options: ServingDutyOptions;
  #watch: HealthWatch | null = null;
  #health: Health = UNPROBED;
  #place: ServerPlace | null = null;
  #wasOpen = false;
  /** Requests inside; each container has a set of its own. */
  #visits = new Set<Visit>();
  /** Since when it runs and is not healthy. */
  #outSince: number | null = null;
  /** What is wrong, in words for people. */
  #fault = "it was not asked for its health yet";
  /** Time for those inside, since nobody is let in any more. */
  #grace: { readonly timer: NodeJS.Timeout; isOver: boolean } | null = null;
  #sockets: { readonly at: number; readonly found: readonly ListeningSocket[] | null } | null = null;
  #hasToldOfPort = false;

  constructor(post: DutyPost, options: ServingDutyOptions) {
    this.#post = post;
    this.#options = options;
    const { drainPollHoldMs, pollHoldMs } = options.timing;
    this.calls = new IdleCalls(() => (post.isDraining() ? drainPollHoldMs : pollHoldMs));
  }

  // The door

  isOpen(): boolean {
    const { isAlive, isWanted } = this.#post;
    return this.#health.isHealthy && this.#place !== null && isAlive() && isWanted();
  }

  enter(turnOut: () => void): Entry | null {
    if (this.#place === null || !this.isOpen()) return null;
    const { host, port } = this.#place;
    const visits = this.#visits;
    const visit = { turnOut };
    visits.add(visit);
    const leave = (): void => {
      const wasLast = visits.delete(visit) && visits.size === 0;
      if (wasLast && this.#post.isAlive()) this.#post.onChange();
    };
    return { host, port, leave };
  }

  suspect(): void {
    this.#watch?.hurry();
  }

  refused(): void {
    this.#watch?.refused();
  }

  // What there is

  facts(): DutyFacts {
    return {
      isRefreshing: false,
      needsHardStop: false,
      isQuiet: this.#visits.size === 0 || this.#grace?.isOver === true, // V2
      silentForMs: this.#outSince === null ? 0 : Math.max(1, ageMs(this.#outSince)),
      silenceLimitMs: this.#post.outline.startLimitMs,
      isMute: false,
      complaint: null,
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
    const limit = `${Math.round(this.#post.outline.startLimitMs / 1_000)} s`;
    if (end === "start_limit") {
      const reason = `was not healthy within ${limit} of its start: ${this.#fault}`;
      return { kind: "start_limit_exceeded", reason };
    }
    if (end === "silent") {
      return { kind: "fell_silent", reason: `has not been healthy for ${limit}: ${this.#fault}` };
    }
    return null;
  }

  // Told by the worker's life

  forget(): void {
    this.#visits = new Set();
    this.#outSince = null;
    this.#sockets = null;
    this.#hasToldOfPort = false;
  }

  running(): void {
    this.#stopWatch();
    const { wasReady } = this.#post.container;
    if (wasReady) this.#outSince = performance.now();
    const watch: HealthWatch = new HealthWatch(
      { ...UNPROBED, wasHealthy: wasReady },
      {
        pauses: this.#options.timing,
        place: () => this.#findPlace(),
        onProbed: async (health, place, probedForMs) => {
          if (this.#isWatchedBy(watch)) await this.#probed(watch, health, place, probedForMs);
        },
      },
    );
    this.#watch = watch;
    void watch.run();
  }

  freezing(): void {
    this.#stopWatch();
    for (const { turnOut } of [...this.#visits]) turnOut(); // nothing of them would go on in the cold
  }

  halt(): void {
    this.#stopWatch();
    this.calls.releaseAll();
  }

  end(): void {
    this.halt();
    this.changed();
  }

  lose(): void {}

  close(): void {
    this.halt();
    clearTimeout(this.#grace?.timer);
  }

  changed(): void {
    this.#boundGrace();
    const isOpen = this.isOpen();
    if (isOpen === this.#wasOpen) return;
    this.#wasOpen = isOpen;
    this.#options.onDoorsChange(this.#post.outline.endpointId);
  }

  #boundGrace(): void {
    const { isAlive, isWanted, onChange } = this.#post;
    if (!isAlive() || isWanted()) {
      clearTimeout(this.#grace?.timer);
      this.#grace = null;
    } else if (this.#grace === null) {
      const timer = setTimeout(() => {
        if (this.#grace) this.#grace.isOver = true;
        onChange();
      }, this.#options.timing.directGraceMs);
      this.#grace = { timer: timer.unref(), isOver: false };
    }
  }

  // Health

  async #findPlace(): Promise<ServerPlace> {
    const { container, outline } = this.#post;
    const { server } = container;
    if (server === null) throw new Error("It is not known where its server listens.");
    return { ...server, host: await this.#options.runtime.addressOf(outline.workerId) };
  }

  async #probed(
    watch: HealthWatch,
    health: Health,
    place: ServerPlace | null,
    probedForMs: number,
  ): Promise<void> {
    this.#health = health;
    this.#place = place;
    if (health.isHealthy) return this.#isHealthy();
    this.changed();
    const sockets = await this.#lookAtSockets(health, probedForMs);
    if (this.#isWatchedBy(watch)) this.#isNotHealthy(sockets);
  }

  /** What is said of a container that has ended is said by others. */
  #isWatchedBy(watch: HealthWatch): boolean {
    return this.#watch === watch && this.#post.isAlive();
  }

  #isHealthy(): void {
    const { outline, container, standing, isDraining, becomeReady, onChange } = this.#post;
    this.#outSince = null;
    if (!container.wasReady) {
      becomeReady(`answers 200 on ${this.#place?.healthPath ?? ""}`);
    } else if (standing.state !== "ready" && !isDraining()) {
      this.#options.log.info("worker_health_regained", { workerId: outline.workerId });
      standing.become("ready");
    }
    if (!this.#wasOpen) onChange();
  }

  #isNotHealthy(sockets: readonly ListeningSocket[] | null): void {
    const { outline, container, isDraining, onChange } = this.#post;
    const { answer } = this.#health;
    if (answer === null || container.server === null) return;
    const isApart = this.#options.runtime.kind === "docker";
    this.#fault = describeAnswer(answer, { settings: container.server, sockets, isApart });
    if (!isDraining()) this.#tell(answer.kind === "status" && answer.status === 204);
    if (sockets && sockets.length > 0 && !this.#hasToldOfPort) {
      this.#hasToldOfPort = true;
      this.#options.log.warn("worker_port_wrong", { workerId: outline.workerId, reason: this.#fault });
    }
    if (!container.wasReady || this.#outSince !== null) return;
    this.#outSince = performance.now();
    onChange(); // its time begins to run
  }

  #tell(isInitializing: boolean): void {
    const { outline, container, standing } = this.#post;
    if (!container.wasReady) {
      // A failing worker is called so until it is ready again.
      if (standing.state === "starting") standing.become("starting", this.#fault);
      return;
    }
    if (!this.#health.isOut) return;
    if (standing.state === "ready")
      this.#options.log.warn("worker_health_lost", { workerId: outline.workerId, reason: this.#fault });
    standing.become(isInitializing ? "starting" : "unhealthy", this.#fault);
  }

  /** What the container listens on, when nobody answers where its server should. */
  async #lookAtSockets({ answer }: Health, probedForMs: number): Promise<readonly ListeningSocket[] | null> {
    const { portHintAfterMs } = this.#options.timing;
    if (answer?.kind !== "refused" || probedForMs < portHintAfterMs) return null;
    if (this.#sockets === null || ageMs(this.#sockets.at) >= portHintAfterMs) {
      const { workerId } = this.#post.outline;
      const found = await this.#options.runtime.listening(workerId).catch(() => null);
      this.#sockets = { at: performance.now(), found };
    }
    return this.#sockets.found;
  }

  #stopWatch(): void {
    this.#watch?.stop();
    this.#watch = null;
    this.#health = UNPROBED; // V1
    this.#place = null;
    this.#outSince = null;
  }
}
