/** The metrics of an endpoint for its readers: health, gauges, activity and usage. All of it is read from memory. */
import type { HealthBody } from "../../contract/job.ts";
import { QUEUE_DEPTH_MAX } from "../../contract/limits.ts";
import type { MetricsWindow } from "../../contract/metrics.ts";
import { LIMITED_OPERATIONS, RATE_WINDOW_MS, type LimitedOperation } from "../../contract/rate-limits.ts";
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import { Activity } from "../../domain/metrics/activity.ts";
import { workerGauges, type Gauges, type WorkerGauges } from "../../domain/metrics/gauges.ts";
import { countWorkers, measureWorkers } from "../../domain/metrics/worker-counts.ts";
import { startObstacleOf } from "../../domain/rollouts/rollout-progress.ts";
import type { FeatureHooks } from "../commit-hooks.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import { LOAD_BALANCED_WAITING_MAX, type RequestLimits } from "../limits/request-limits.ts";
import type {
  ActivityReply,
  HealthReply,
  JobHour,
  TotalsReply,
  UsageReply,
  WorkersReply,
} from "../messages.ts";
import type { QueueLedger } from "../queue/queue-ledger.ts";
import type { Autoscaler } from "../scaling/autoscaler.ts";
import type { CanaryWatch } from "../scaling/canary-watch.ts";
import type { Rollout } from "../scaling/rollout.ts";
import type { RequestLoad, Workload } from "../scaling/workload.ts";
import type { OtherShards } from "../shards/other-shards.ts";
import type { ActivityCounters } from "./activity-counters.ts";
import { reportActivity, reportUsage, sumHours } from "./activity-report.ts";

export type MetricsHandlersParts = {
  readonly activity: ActivityCounters;
  readonly facts: Pick<EndpointFacts, "config" | "report">;
  readonly work: Workload;
  readonly ledger: Pick<QueueLedger, "counts">;
  readonly scaling: Pick<Autoscaler, "desired">;
  readonly limits: RequestLimits;
  readonly canary: Pick<CanaryWatch, "describe">;
  readonly rollout: Pick<Rollout, "describe">;
  readonly requests: Pick<RequestLoad, "checkpointDueAt">;
  readonly others: Pick<OtherShards, "ended">;
};

type Configured<Reply> = Exclude<Reply, { readonly kind: "unconfigured" }>;

export class MetricsHandlers {
  readonly #parts: MetricsHandlersParts;
  #counted: { readonly report: FleetReport; readonly workers: WorkerGauges } | undefined;

  constructor(parts: MetricsHandlersParts) {
    this.#parts = parts;
  }

  get hooks(): FeatureHooks {
    const { activity, requests } = this.#parts;
    return {
      recover: (now) => activity.resume(this.#readGauges(), now),
      commit: (_, now) => activity.endTurn(this.#readGauges(), now, requests.checkpointDueAt),
      nextAt: () => activity.checkpointDueAt,
    };
  }

  health(now: number): Configured<HealthReply> {
    return { kind: "health", json: JSON.stringify(this.#reportHealth(now)) };
  }

  /** Counts of the workers, which of them can take a job now, and which have one. */
  workers(): Configured<WorkersReply> {
    const { facts, work } = this.#parts;
    const metrics = measureWorkers(facts.report, work.working);
    return { kind: "workers", metrics, busyWorkers: [...work.working.keys()] };
  }

  /** `elsewhere`: what jobs did in other objects of the endpoint. */
  activity(window: MetricsWindow, elsewhere: readonly Activity[], now: number): Configured<ActivityReply> {
    return { kind: "activity", ...reportActivity(this.#parts.activity, window, elsewhere, now) };
  }

  totals(elsewhere: readonly Activity[]): Configured<TotalsReply> {
    const { activity } = this.#parts;
    const total = Activity.from(activity.total.toRecord());
    for (const other of elsewhere) total.addJobs(other);
    return { kind: "totals", total: total.toRecord(), levels: activity.levels };
  }

  usage(since: number, elsewhere: readonly JobHour[], now: number): Configured<UsageReply> {
    return { kind: "usage", hours: sumHours(reportUsage(this.#parts.activity, since, now), elsewhere) };
  }

  /** Jobs or requests, and workers, of the endpoint; its limits, and what is used of them. */
  #reportHealth(now: number): HealthBody {
    const { facts, work, limits, rollout, canary } = this.#parts;
    const { config, report } = facts;
    const { completed, failed, retried } = this.#ended();
    return {
      jobs: { completed, failed, inProgress: work.running, inQueue: work.waiting, retried },
      workers: countWorkers(report, work.working),
      release: config ? rollout.describe(report, config.version, now) : null,
      canary: canary.describe(),
      obstacle: config ? startObstacleOf(report, config.version) : null,
      budget: report.budget ? { ...report.budget, until: new Date(report.budget.until).toISOString() } : null,
      limits: {
        windowMs: RATE_WINDOW_MS,
        runningWorkers: limits.runningWorkers,
        queueDepth:
          config?.type === "LB" ? LOAD_BALANCED_WAITING_MAX : (config?.queueDepthMax ?? QUEUE_DEPTH_MAX),
        operations: forEachOperation((operation) => limits.limitOf(operation)),
      },
      usage: {
        queueDepth: work.waiting,
        operations: forEachOperation((operation) => limits.usageOf(operation, now)),
      },
    };
  }

  /** Jobs or requests that have ended since the endpoint exists, and how many jobs were queued again. */
  #ended(): { readonly completed: number; readonly failed: number; readonly retried: number } {
    const { facts, ledger, activity, others } = this.#parts;
    if (facts.config?.type !== "LB") {
      const { completed, failed, retried } = others.ended;
      const own = ledger.counts;
      return {
        completed: own.completed + completed,
        failed: own.failed + failed,
        retried: own.retried + retried,
      };
    }
    const { completed, failed, timed_out: timedOut, retried } = activity.total.counts;
    return { completed, failed: failed + timedOut, retried };
  }

  /**
   * The gauges of this moment, which cost nothing while Fleet reports nothing new. A worker with work counts as busy
   * whatever else it is, so among many `idle` may be one too few.
   */
  #readGauges(): Gauges {
    const { facts, work, scaling } = this.#parts;
    const { report } = facts;
    if (this.#counted?.report !== report) this.#counted = { report, workers: workerGauges(report) };
    const { starting, ready, throttled, unhealthy } = this.#counted.workers;
    const busy = work.working.size;
    const idle = Math.max(0, ready - busy);
    const { waiting: queued, running } = work;
    return { starting, busy, idle, throttled, unhealthy, queued, running, wanted: scaling.desired };
  }
}

function forEachOperation<Value>(describe: (operation: LimitedOperation) => Value) {
  const entries = LIMITED_OPERATIONS.map((operation) => [operation, describe(operation)] as const);
  return Object.fromEntries(entries) as Record<LimitedOperation, Value>;
}
