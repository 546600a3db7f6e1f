/** Whether the workers of a deployed endpoint come up, judged by what `health` says of it. */
import * as z from "zod";

const count = z.number();

/** What is read of `GET /v2/<id>/health`; an edge of an earlier version has no `obstacle`. */
export const healthSchema = z.object({
  workers: z.object({ idle: count, running: count, initializing: count, throttled: count, unhealthy: count }),
  release: z.object({ stalledSince: z.string().nullable(), reason: z.string().nullable() }).nullable(),
  obstacle: z.string().nullish(),
});
export type Health = z.infer<typeof healthSchema>;

/** ready: workers of this version take work. idle: none runs; the first call starts one. */
export type Readiness =
  | { readonly state: "ready" | "idle" }
  | { readonly state: "waiting"; readonly reason: string | undefined }
  | { readonly state: "failed"; readonly reason: string };

const UNKNOWN_FAILURE = "Its workers keep failing. See their logs.";

/** `workersMin` is that of the endpoint: so many run without any call. */
export function readinessOf({ workers, release, obstacle }: Health, workersMin: number): Readiness {
  const ready = workers.idle + workers.running;
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
