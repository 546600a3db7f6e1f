/**
 * What the objects of one endpoint tell each other. The first one leads: it tells the others what Fleet and users have
 * told it, and they answer with what they have to do.
 */
import type { EndpointConfig } from "../../contract/endpoint.ts";
import type { RequestRow } from "../../contract/job.ts";
import type { MetricsWindow } from "../../contract/metrics-window.ts";
import type { WebhookSecret } from "../../contract/webhook.ts";
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import type { JobState } from "../../domain/jobs/job-machine.ts";
import type { ActivityRecord } from "../../domain/metrics/activity.ts";
import type { JobHour } from "../messages.ts";

/** What another object must know. */
export type ShardUpdate = {
  readonly config: EndpointConfig;
  readonly webhookSecrets: readonly WebhookSecret[];
  readonly report: FleetReport;
  /** Objects that take new jobs. */
  readonly active: number;
};

export type PriorityLoad = { readonly normal: number; readonly low: number };

/** What an object has to do, and with which workers. */
export type ShardLoad = {
  readonly waiting: PriorityLoad;
  readonly running: PriorityLoad;
  /** Since when its oldest normal job is queued; null while none is. */
  readonly oldestQueuedAt: number | null;
  /** Workers with jobs, and how many. */
  readonly busy: readonly (readonly [workerId: string, jobs: number])[];
  /** When the last job of a worker ended that has none. */
  readonly freedAt: readonly (readonly [workerId: string, at: number])[];
  readonly callsPerSecond: number;
  readonly ended: { readonly completed: number; readonly failed: number; readonly retried: number };
};

export type ShardReply = { readonly kind: "removed" } | { readonly kind: "load"; readonly load: ShardLoad };

/** What is summed up over all objects when somebody asks. */
export type ShardQuery =
  | { readonly kind: "purge" }
  | {
      readonly kind: "jobs";
      readonly state: JobState | null;
      readonly offset: number;
      readonly limit: number;
    }
  | { readonly kind: "total" }
  | { readonly kind: "activity"; readonly window: MetricsWindow; readonly since: number }
  | { readonly kind: "usage"; readonly since: number };

export type ShardAnswer =
  | { readonly kind: "purge"; readonly removed: number }
  | { readonly kind: "jobs"; readonly requests: readonly RequestRow[]; readonly total: number }
  | { readonly kind: "total"; readonly total: ActivityRecord }
  | { readonly kind: "activity"; readonly records: readonly ActivityRecord[] }
  | { readonly kind: "usage"; readonly hours: readonly JobHour[] };
