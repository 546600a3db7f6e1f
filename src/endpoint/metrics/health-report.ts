/** What `health` and `metrics` say of an endpoint: read from memory, nothing is counted. */
import { workerGauges, type Gauges, type WorkerGauges } from "../../domain/metrics/gauges.ts";
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import type { EndpointFacts } from "../endpoint-facts.ts";
import type { Autoscaler } from "../scaling/autoscaler.ts";
import type { Workload } from "../scaling/workload.ts";
import type { HealthBody, MetricsBody } from "../../contract/job.ts";
import { QUEUE_DEPTH_MAX } from "../../contract/limits.ts";
import { DIRECT_WAITING_MAX } from "../load-balancing/waiting-requests.ts";
import { LIMITED_OPERATIONS, RATE_WINDOW_MS, type LimitedOperation } from "../../contract/rate-limits.ts";
import { measureWorkers } from "../../domain/metrics/worker-counts.ts";
import { startObstacleOf } from "../../domain/rollouts/rollout-progress.ts";
import type { RequestLimits } from "../limits/request-limits.ts";
import type { Rollout } from "../scaling/rollout.ts";

export type HealthParts = {
  readonly facts: EndpointFacts;
  readonly work: Workload;
  readonly limits: RequestLimits;
  readonly rollout: Pick<Rollout, "describe">;
};

/** The endpoint's workers by state. */
export function reportMetrics({ facts, work }: Pick<HealthParts, "facts" | "work">): MetricsBody {
  return measureWorkers(facts.report, work.busy);
}

/** Jobs, or direct requests, and workers of the endpoint, its limits and what is used of them. */
export function reportHealth(parts: HealthParts, now: number): HealthBody {
  const { facts, work, limits, rollout } = parts;
  const { completed, failed, retried } = work.ended;
  return {
    jobs: { completed, failed, inProgress: work.running, inQueue: work.waiting, retried },
    workers: reportMetrics(parts).workers,
    release: facts.config ? rollout.describe(facts.report, facts.config.version, now) : null,
    obstacle: facts.config ? startObstacleOf(facts.report, facts.config.version) : null,
    limits: {
      windowMs: RATE_WINDOW_MS,
      runningWorkers: limits.runningWorkers,
      queueDepth: depthMaxOf(facts.config),
      operations: forEachOperation((operation) => limits.limitOf(operation)),
    },
    usage: {
      queueDepth: work.waiting,
      operations: forEachOperation((operation) => limits.usageOf(operation, now)),
    },
  };
}

/** How many jobs, or requests, may wait at once. */
function depthMaxOf(config: EndpointFacts["config"]): number {
  return config?.type === "LB" ? DIRECT_WAITING_MAX : (config?.queueDepthMax ?? QUEUE_DEPTH_MAX);
}

function forEachOperation<Value>(describe: (operation: LimitedOperation) => Value) {
  const entries = LIMITED_OPERATIONS.map((operation) => [operation, describe(operation)] as const);
  return Object.fromEntries(entries) as Record<LimitedOperation, Value>;
}

/** How many workers do what and how many jobs or requests wait, now. Costs nothing while Fleet says nothing new. */

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
