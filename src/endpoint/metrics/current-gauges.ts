/** How many workers do what and how many jobs or requests wait, now. Costs nothing while Fleet says nothing new. */
import { workerGauges, type Gauges, type WorkerGauges } from "../../domain/metrics/gauges.ts";
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import type { EndpointFacts } from "../endpoint-facts.ts";
import type { Autoscaler } from "../scaling/autoscaler.ts";
import type { Workload } from "../scaling/workload.ts";

export type GaugeSources = {
  readonly facts: Pick<EndpointFacts, "report">;
  readonly work: Pick<Workload, "busy" | "waiting" | "running">;
  readonly scaling: Pick<Autoscaler, "desired">;
};

export class CurrentGauges {
  readonly #sources: GaugeSources;
  #counted: { readonly report: FleetReport; readonly workers: WorkerGauges } | undefined;

  constructor(sources: GaugeSources) {
    this.#sources = sources;
  }

  /** A worker with work counts as busy whatever else it is, so of many at once `idle` may be one too few. */
  read(): Gauges {
    const { facts, work, scaling } = this.#sources;
    const { starting, ready, throttled, unhealthy } = this.#workers(facts.report);
    const busy = work.busy.size;
    const { waiting: queued, running } = work;
    const idle = Math.max(0, ready - busy);
    return { starting, busy, idle, throttled, unhealthy, queued, running, wanted: scaling.desired };
  }

  #workers(report: FleetReport): WorkerGauges {
    if (this.#counted?.report !== report) this.#counted = { report, workers: workerGauges(report) };
    return this.#counted.workers;
  }
}
