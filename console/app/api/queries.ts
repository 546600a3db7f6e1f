/**
 * What pages read, and how often. A page asks while it is visible: a hidden tab asks nothing, and looks again when it
 * is shown.
 */
import { infiniteQueryOptions, QueryClient, queryOptions } from "@tanstack/react-query";
import type { LogPage } from "../../../src/contract/agent/log.ts";
import type { HealthBody, JobView, RequestsPage } from "../../../src/contract/job.ts";
import type { WireStatus } from "../../../src/contract/job-status.ts";
import type { RequestMetrics, WorkerMetrics } from "../../../src/contract/metrics.ts";
import type { MetricsWindow } from "../../../src/contract/metrics-window.ts";
import type { WebhookLogBody } from "../../../src/contract/webhook.ts";
import { ApiError, call } from "./http.ts";
import { query } from "./graphql.ts";
import {
  ACCESS,
  ACCOUNT,
  ACCOUNT_SETTINGS,
  APP,
  APPS,
  AUDIT,
  ENDPOINT,
  HOSTS,
  OVERVIEW,
  PODS,
  REGISTRIES,
  SECRETS,
  TEMPLATES,
  USAGE,
  VERSIONS,
  VOLUMES,
  WEBHOOK_SECRET,
} from "./operations.ts";

const SOON_MS = 2_000;
const OFTEN_MS = 5_000;
const SELDOM_MS = 15_000;
/** In lists. */
export const IN_LISTS_MS = 20_000;
const JOBS_PER_PAGE = 100;
const RETRIES = 2;

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      // Who is not let in will not be let in the next time.
      retry: (failures, error) =>
        failures < RETRIES && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
  },
});

export const accountQuery = queryOptions({
  queryKey: ["account"],
  queryFn: async ({ signal }) => (await query(ACCOUNT, {}, signal)).myself,
  staleTime: Infinity,
});

export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: async ({ signal }) => (await query(OVERVIEW, {}, signal)).myself,
  refetchInterval: SELDOM_MS,
});

export const endpointQuery = (id: string) =>
  queryOptions({
    queryKey: ["endpoint", id],
    queryFn: async ({ signal }) => {
      const endpoint = (await query(ENDPOINT, { id }, signal)).myself?.endpoint;
      if (!endpoint) throw new ApiError(`There is no endpoint ${id}.`, "endpoint_not_found", 404);
      return endpoint;
    },
    refetchInterval: OFTEN_MS,
  });

/** `every`: lists show many endpoints, each of which is an object of its own that is asked. */
export const healthQuery = (id: string, every = OFTEN_MS) =>
  queryOptions({
    queryKey: ["health", id],
    queryFn: ({ signal }) => call<HealthBody>(`/v2/${encodeURIComponent(id)}/health`, { signal }),
    refetchInterval: every,
  });

export const requestMetricsQuery = (id: string, window: MetricsWindow, every = SELDOM_MS) =>
  queryOptions({
    queryKey: ["metrics", id, "requests", window],
    queryFn: ({ signal }) =>
      call<RequestMetrics>(`/v2/${encodeURIComponent(id)}/metrics/requests?window=${window}`, { signal }),
    refetchInterval: every,
  });

export const workerMetricsQuery = (id: string, window: MetricsWindow) =>
  queryOptions({
    queryKey: ["metrics", id, "workers", window],
    queryFn: ({ signal }) =>
      call<WorkerMetrics>(`/v2/${encodeURIComponent(id)}/metrics/workers?window=${window}`, { signal }),
    refetchInterval: SELDOM_MS,
  });

export const jobsQuery = (id: string, status: WireStatus | undefined) =>
  infiniteQueryOptions({
    queryKey: ["jobs", id, status ?? "all"],
    queryFn: ({ pageParam, signal }) => {
      const parameters = new URLSearchParams({ limit: String(JOBS_PER_PAGE), offset: String(pageParam) });
      if (status) parameters.set("status", status);
      return call<RequestsPage>(`/v2/${encodeURIComponent(id)}/requests?${parameters}`, { signal });
    },
    initialPageParam: 0,
    getNextPageParam: ({ offset, limit, hasMore }) => (hasMore ? offset + limit : undefined),
    // Each page is a request of its own, so only those at the top look for news.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 1 ? false : OFTEN_MS),
  });

const ENDED: ReadonlySet<WireStatus> = new Set(["COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"]);

export function hasEnded(status: WireStatus): boolean {
  return ENDED.has(status);
}

export const jobQuery = (endpointId: string, jobId: string) =>
  queryOptions({
    queryKey: ["job", endpointId, jobId],
    queryFn: ({ signal }) =>
      call<JobView>(`${jobPath(endpointId, "status", jobId)}?timeline=1&cost=1`, { signal }),
    refetchInterval: ({ state }) =>
      state.error || (state.data && hasEnded(state.data.status)) ? SELDOM_MS : SOON_MS,
  });

export function jobPath(endpointId: string, operation: string, jobId: string): string {
  return `/v2/${encodeURIComponent(endpointId)}/${operation}/${encodeURIComponent(jobId)}`;
}

export type LogFilter = {
  readonly jobId?: string | undefined;
  readonly workerId?: string | undefined;
  readonly search?: string | undefined;
  readonly source?: "container" | "system" | undefined;
};

export const logsQuery = (endpointId: string, filter: LogFilter) =>
  queryOptions({
    queryKey: ["logs", endpointId, filter],
    queryFn: ({ signal }) => {
      const parameters = new URLSearchParams({ limit: "500" });
      for (const [name, value] of Object.entries(filter)) if (value) parameters.set(name, value);
      return call<LogPage>(`/v2/${encodeURIComponent(endpointId)}/logs?${parameters}`, { signal });
    },
    refetchInterval: OFTEN_MS,
  });

export const hostsQuery = queryOptions({
  queryKey: ["hosts"],
  queryFn: async ({ signal }) => (await query(HOSTS, {}, signal)).myself?.hosts ?? [],
  refetchInterval: OFTEN_MS,
});

export const usageQuery = (from: string) =>
  queryOptions({
    queryKey: ["usage", from],
    queryFn: async ({ signal }) => (await query(USAGE, { from, bucket: "day" }, signal)).myself?.usage ?? [],
  });

export const auditQuery = infiniteQueryOptions({
  queryKey: ["audit"],
  queryFn: async ({ pageParam, signal }) =>
    (await query(AUDIT, { before: pageParam }, signal)).myself?.auditLog ?? [],
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.at(-1)?.id,
});

export const accessQuery = queryOptions({
  queryKey: ["access"],
  queryFn: ({ signal }) => query(ACCESS, {}, signal),
});

export const secretsQuery = queryOptions({
  queryKey: ["secrets"],
  queryFn: async ({ signal }) => (await query(SECRETS, {}, signal)).myself?.secrets ?? [],
});

export const podsQuery = queryOptions({
  queryKey: ["pods"],
  queryFn: async ({ signal }) => (await query(PODS, {}, signal)).myself?.pods ?? [],
  refetchInterval: OFTEN_MS,
});

export const appsQuery = queryOptions({
  queryKey: ["apps"],
  queryFn: async ({ signal }) => (await query(APPS, {}, signal)).myself?.flashApps ?? [],
  refetchInterval: SELDOM_MS,
});

export const versionsQuery = (id: string) =>
  queryOptions({
    queryKey: ["versions", id],
    queryFn: async ({ signal }) => (await query(VERSIONS, { id }, signal)).myself?.endpoint?.releases ?? [],
    refetchInterval: SELDOM_MS,
  });

export const appQuery = (id: string) =>
  queryOptions({
    queryKey: ["app", id],
    queryFn: async ({ signal }) => {
      const app = (await query(APP, { id }, signal)).flashApp;
      if (!app) throw new ApiError(`There is no app ${id}.`, "app_not_found", 404);
      return app;
    },
    refetchInterval: SELDOM_MS,
  });

export const templatesQuery = queryOptions({
  queryKey: ["templates"],
  queryFn: async ({ signal }) => (await query(TEMPLATES, {}, signal)).myself ?? NO_TEMPLATES,
});

const NO_TEMPLATES = { podTemplates: null, containerRegistryCreds: null };

export const volumesQuery = queryOptions({
  queryKey: ["volumes"],
  queryFn: ({ signal }) => query(VOLUMES, {}, signal),
});

export const registriesQuery = queryOptions({
  queryKey: ["registries"],
  queryFn: async ({ signal }) => (await query(REGISTRIES, {}, signal)).myself?.containerRegistryCreds ?? [],
});

/** Forgotten with the page that shows it. */
export const webhookSecretQuery = queryOptions({
  queryKey: ["webhook-secret"],
  queryFn: async ({ signal }) => (await query(WEBHOOK_SECRET, {}, signal)).myself?.webhookSecret ?? null,
  gcTime: 0,
});

export const accountSettingsQuery = queryOptions({
  queryKey: ["account-settings"],
  queryFn: async ({ signal }) => (await query(ACCOUNT_SETTINGS, {}, signal)).myself,
});

/** The calls of a job's webhook, which are over soon after the job. */
export const webhookQuery = (endpointId: string, jobId: string) =>
  queryOptions({
    queryKey: ["webhook", endpointId, jobId],
    queryFn: ({ signal }) => call<WebhookLogBody>(jobPath(endpointId, "webhooks", jobId), { signal }),
    refetchInterval: ({ state }) => (state.data?.state === "pending" ? OFTEN_MS : false),
  });
