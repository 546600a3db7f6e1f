/** How many workers do what and how many jobs or requests wait, now. Costs nothing while Fleet says nothing new. */
import { workerLevels, type Levels, type WorkerLevels } from "../domain/levels.ts";
import type { FleetReport } from "../domain/queue-reason.ts";
import type { EndpointFacts } from "./endpoint-facts.ts";
import type { Scaling } from "./scaling.ts";
import type { Workload } from "./workload.ts";

export type LevelSources = {
  readonly facts: Pick<EndpointFacts, "report">;
  readonly work: Pick<Workload, "busy" | "waiting" | "running">;
  readonly scaling: Pick<Scaling, "wanted">;
};

export class PresentLevels {
  readonly #sources: LevelSources;
  #counted: { readonly report: FleetReport; readonly workers: WorkerLevels } | undefined;

  constructor(sources: LevelSources) {
    this.#sources = sources;
  }

  /** A worker with work counts as busy whatever else it is, so of many at once `idle` may be one too few. */
  read(): Levels {
    const { facts, work, scaling } = this.#sources;
    const { starting, ready, throttled, unhealthy } = this.#workers(facts.report);
    const busy = work.busy.size;
    const { waiting: queued, running } = work;
    const idle = Math.max(0, ready - busy);
    return { starting, busy, idle, throttled, unhealthy, queued, running, wanted: scaling.wanted };
  }

  #workers(report: FleetReport): WorkerLevels {
    if (this.#counted?.report !== report) this.#counted = { report, workers: workerLevels(report) };
    return this.#counted.workers;
  }
}
