/** Whether the workers of an endpoint's new version are ready, read from what the service says of its health. */
import * as z from "zod";

const count = z.number();

/** What is read of `GET /v2/<id>/health`; earlier versions of the edge have no `obstacle` or `canary`. */
export const healthSchema = z.object({
  workers: z.object({ idle: count, running: count, initializing: count, throttled: count, unhealthy: count }),
  release: z
    .object({
      outdated: count,
      current: count,
      ready: count,
      stalledSince: z.string().nullable(),
      reason: z.string().nullable(),
    })
    .nullable(),
  obstacle: z.string().nullish(),
  canary: z
    .object({
      percent: count,
      jobs: z.object({ ended: count, failed: count }),
      before: z.object({ ended: count, failed: count }),
      verdict: z.enum(["on", "back"]).nullable(),
      reason: z.string().nullable(),
    })
    .nullish(),
});
export type Health = z.infer<typeof healthSchema>;

/**
 * ready: workers of this version accept work. idle: none runs, and the first call starts one; `reason`: why none could
 * be started to see whether it can. trying: a share of the jobs tries this version beside the earlier one.
 */
export type Readiness =
  | { readonly state: "ready" }
  | { readonly state: "idle"; readonly reason?: string }
  | { readonly state: "waiting"; readonly reason: string | undefined }
  | { readonly state: "trying"; readonly reason: string }
  | { readonly state: "failed"; readonly reason: string };

const UNKNOWN_FAILURE = "Its workers keep failing. See their logs.";

/** `workersMin` is that of the endpoint: the number of workers that run without any call. */
export function readinessOf({ workers, release, obstacle, canary }: Health, workersMin: number): Readiness {
  const ready = workers.idle + workers.running;
  if (canary) return canaryReadinessOf(canary);
  if (obstacle) return { state: "failed", reason: obstacle };
  if (release !== null) {
    if (release.stalledSince === null) return { state: "waiting", reason: release.reason ?? undefined };
    return { state: "failed", reason: release.reason ?? UNKNOWN_FAILURE };
  }
  if (ready > 0) return { state: "ready" };
  if (workers.unhealthy > 0) return { state: "failed", reason: UNKNOWN_FAILURE };
  const isComing = workers.initializing + workers.throttled > 0 || workersMin > 0;
  return isComing ? { state: "waiting", reason: undefined } : { state: "idle" };
}

function canaryReadinessOf({
  percent,
  jobs,
  before: earlier,
  verdict,
  reason,
}: NonNullable<Health["canary"]>): Readiness {
  if (verdict === "back")
    return { state: "failed", reason: `It went back: ${reason ?? "see flash releases"}.` };
  const counts = `${jobs.failed} of ${jobs.ended} jobs failed; with the earlier version ${earlier.failed} of ${earlier.ended}`;
  return { state: "trying", reason: `${percent} % of the jobs try it, ${counts}` };
}

/** The same while a trial worker is to come: without a place for it nothing is known, and nothing has failed. */
export function trialReadinessOf(health: Health): Readiness {
  const found = readinessOf(health, 1);
  const isPlaced = health.release !== null || health.workers.unhealthy > 0;
  return found.state === "failed" && !isPlaced ? { state: "idle", reason: found.reason } : found;
}

/** Workers of the new version that take jobs, and how many are to come. */
export type WorkerCount = { readonly ready: number; readonly total: number };

export function countWorkers({ workers, release }: Health, workersMin: number): WorkerCount {
  if (release !== null) {
    const { ready, current, outdated } = release;
    return { ready, total: Math.max(workersMin, current, outdated) };
  }
  const ready = workers.idle + workers.running;
  const present = ready + workers.initializing + workers.throttled + workers.unhealthy;
  return { ready, total: Math.max(workersMin, present) };
}
