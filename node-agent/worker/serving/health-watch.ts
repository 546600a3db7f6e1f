import { HEALTH_PROBE_EAGER_MS } from "../../../src/contract/limits.ts";
import { ageMs } from "../../age.ts";
import { Wake } from "../wake.ts";
import { type Health, judgeProbe, type ProbeAnswer, type ProbePauses, probePauseMs } from "./health.ts";
import { probeHealth, type ServerPlace } from "./health-probe.ts";

export type HealthWatchOptions = {
  readonly pauses: ProbePauses;
  readonly place: () => Promise<ServerPlace>;
  /** Told of each probe before the next one is made. */
  readonly onProbed: (health: Health, place: ServerPlace | null, probedForMs: number) => Promise<void>;
};

/** Looks at the health of one container again and again until it is stopped. */
export class HealthWatch {
  readonly #options: HealthWatchOptions;
  readonly #stopping = new AbortController();
  readonly #wake = new Wake();
  readonly #beganAt = performance.now();
  #place: ServerPlace | null = null;
  #health: Health;
  #isHurried = false;

  constructor(health: Health, options: HealthWatchOptions) {
    this.#health = health;
    this.#options = options;
    this.#wake.wakeOnAbort(this.#stopping.signal);
  }

  async run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const answer = await this.#probe();
      if (signal.aborted) return;
      await this.#judge(answer);
      await this.#rest(probePauseMs(this.#health, ageMs(this.#beganAt), this.#options.pauses));
    }
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** The next probe is made at once. */
  hurry(): void {
    this.#isHurried = true;
    this.#wake.wake();
  }

  /** A request has met nobody: that says as much as a probe. */
  refused(): void {
    if (this.#health.isHealthy && this.#place) void this.#judge({ kind: "refused", port: this.#place.port });
    this.hurry();
  }

  #judge(answer: ProbeAnswer): Promise<void> {
    this.#health = judgeProbe(this.#health, answer);
    return this.#options.onProbed(this.#health, this.#place, ageMs(this.#beganAt));
  }

  async #probe(): Promise<ProbeAnswer> {
    this.#isHurried = false;
    try {
      this.#place ??= await this.#options.place();
      return await probeHealth(this.#place, this.#stopping.signal);
    } catch (error) {
      return { kind: "broken", reason: error instanceof Error ? error.message : String(error) };
    }
  }

  /** However many are in a hurry, there is a pause between two probes. */
  async #rest(pauseMs: number): Promise<void> {
    const { signal } = this.#stopping;
    await this.#wake.pause(pauseMs, () => signal.aborted || this.#isHurried);
    if (this.#isHurried)
      await this.#wake.pause(Math.min(pauseMs, HEALTH_PROBE_EAGER_MS), () => signal.aborted);
  }
}
