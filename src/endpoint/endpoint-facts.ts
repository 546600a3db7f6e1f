/** What an endpoint's object knows of its endpoint: configuration, workers, and how busy it is. */
import { HOT_HOLD_MS } from "../contract/limits.ts";
import type { EndpointConfig } from "../contract/endpoint.ts";
import { NO_REPORT, type FleetReport } from "../domain/queue-reason.ts";
import type { JobStore } from "./job-store.ts";

/** The object is hot, and lets calls wait inside it, for this long after the last work. */
const HOT_FOR_MS = 2_000;

export class EndpointFacts {
  readonly #store: JobStore;
  #config: EndpointConfig | undefined;
  #report: FleetReport = NO_REPORT;
  #lastActiveAt = 0;

  constructor(store: JobStore) {
    this.#store = store;
  }

  load(): void {
    this.#config = this.#store.readFact<EndpointConfig>("config");
    this.#report = this.#store.readFact<FleetReport>("report") ?? NO_REPORT;
  }

  /** Undefined until the object is told of its endpoint, and when that was deleted. */
  get config(): EndpointConfig | undefined {
    return this.#config;
  }

  get report(): FleetReport {
    return this.#report;
  }

  /** A caller who read the endpoint just before it was deleted must not bring it back. */
  get isRemoved(): boolean {
    return this.#store.readFact<true>("removed") ?? false;
  }

  configure(config: EndpointConfig): void {
    this.#config = config;
    this.#store.writeFact("config", config);
  }

  learn(report: FleetReport): void {
    this.#report = report;
    this.#store.writeFact("report", report);
  }

  forgetConfig(): void {
    this.#config = undefined;
  }

  noteRemoval(): void {
    this.#store.writeFact("removed", true);
  }

  noteWork(now: number): void {
    this.#lastActiveAt = now;
  }

  /** How long a call may wait inside the object: a quiet one must be free to hibernate. */
  holdMs(wishedMs: number, now: number): number {
    return now - this.#lastActiveAt < HOT_FOR_MS ? Math.min(wishedMs, HOT_HOLD_MS) : 0;
  }
}
