/**
 * A trial: for a while the endpoint has one worker although nothing asks for it, so that somebody sees whether its
 * workers can start. It ends by itself; who watches extends it.
 */
import type { EndpointConfig } from "../../contract/endpoint.ts";
import type { Fact } from "../facts/fact-store.ts";

export type TrialState = { readonly until: number };

export class Trial {
  readonly #stored: Fact<TrialState>;
  #until = 0;

  constructor(stored: Fact<TrialState>) {
    this.#stored = stored;
  }

  recover(): void {
    this.#until = this.#stored.read()?.until ?? 0;
  }

  /** To be called in a turn. A time that has passed ends the trial. */
  runUntil(until: number): void {
    this.#until = until;
    this.#stored.write({ until });
  }

  /** The limits of workers during the trial; never above workersMax, which is 0 when nothing may run. */
  limitsOf<Limits extends Pick<EndpointConfig, "workersMin" | "workersMax">>(
    limits: Limits,
    now: number,
  ): Limits {
    if (now >= this.#until) return limits;
    return { ...limits, workersMin: Math.max(limits.workersMin, Math.min(1, limits.workersMax)) };
  }

  /** When it ends; null when there is none. */
  endsAt(now: number): number | null {
    return now < this.#until ? this.#until : null;
  }
}
