import { errorMessage } from "../../../src/std/errors.ts";
import { ageMs } from "../../core/timing.ts";
import { Notifier } from "../../core/notifier.ts";
import {
  type Health,
  HEALTH_PROBE_EAGER_MS,
  applyProbe,
  type ProbeAnswer,
  type ProbePauses,
  probePauseMs,
} from "./health.ts";
import { probeHealth, type ServerLocation } from "./health-probe.ts";

export type HealthWatchOptions = {
  readonly pauses: ProbePauses;
  readonly location: () => Promise<ServerLocation>;
  /** Called after each probe, before the next one is made. */
  readonly onProbed: (health: Health, place: ServerLocation | null, probedForMs: number) => Promise<void>;
};

/** Looks at the health of one container again and again until it is stopped. */
export class HealthWatch {
  readonly #options: HealthWatchOptions;
  readonly #stopping = new AbortController();
  readonly #notifier = new Notifier();
  readonly #beganAt = performance.now();
  #location: ServerLocation | null = null;
  #health: Health;
  #isProbeRequested = false;

  constructor(health: Health, options: HealthWatchOptions) {
    this.#health = health;
    this.#options = options;
    this.#notifier.notifyOnAbort(this.#stopping.signal);
  }

  async run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const answer = await this.#probe();
      if (signal.aborted) return;
      await this.#apply(answer);
      await this.#pause(probePauseMs(this.#health, ageMs(this.#beganAt), this.#options.pauses));
    }
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** The next probe is made at once. */
  probeNow(): void {
    this.#isProbeRequested = true;
    this.#notifier.notify();
  }

  /** The worker refused the connection of a request: this proves as much as a probe. */
  connectionRefused(): void {
    if (this.#health.isHealthy && this.#location)
      void this.#apply({ kind: "refused", port: this.#location.port });
    this.probeNow();
  }

  #apply(answer: ProbeAnswer): Promise<void> {
    this.#health = applyProbe(this.#health, answer);
    return this.#options.onProbed(this.#health, this.#location, ageMs(this.#beganAt));
  }

  async #probe(): Promise<ProbeAnswer> {
    this.#isProbeRequested = false;
    try {
      this.#location ??= await this.#options.location();
      return await probeHealth(this.#location, this.#stopping.signal);
    } catch (error) {
      return { kind: "broken", reason: errorMessage(error) };
    }
  }

  /** However many are in a hurry, there is a pause between two probes. */
  async #pause(pauseMs: number): Promise<void> {
    const { signal } = this.#stopping;
    await this.#notifier.waitUntil(pauseMs, () => signal.aborted || this.#isProbeRequested);
    if (this.#isProbeRequested)
      await this.#notifier.waitUntil(Math.min(pauseMs, HEALTH_PROBE_EAGER_MS), () => signal.aborted);
  }
}
