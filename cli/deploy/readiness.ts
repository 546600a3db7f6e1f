/** `flash deploy` waits until the new workers of each endpoint are ready, or cannot become ready. */
import * as z from "zod";
import { setTimeout } from "node:timers/promises";
import type { FlashManifest } from "../../src/contract/flash/flash-manifest.ts";
import type { Cli } from "../core/cli.ts";
import { counted, secondsSince } from "../core/format.ts";
import { ServiceFailure, type Service } from "../service/service.ts";
import { inStep, type Step } from "../core/terminal.ts";
import type { DeployedEndpoint } from "./deployment.ts";

const count = z.number();

/** What is read of `GET /v2/<id>/health`; earlier versions of the edge have no `obstacle`. */
export const healthSchema = z.object({
  workers: z.object({ idle: count, running: count, initializing: count, throttled: count, unhealthy: count }),
  release: z.object({ stalledSince: z.string().nullable(), reason: z.string().nullable() }).nullable(),
  obstacle: z.string().nullish(),
});
export type Health = z.infer<typeof healthSchema>;

/** ready: workers of this version accept work. idle: none runs; the first call starts one. */
type Readiness =
  | { readonly state: "ready" | "idle" }
  | { readonly state: "waiting"; readonly reason: string | undefined }
  | { readonly state: "failed"; readonly reason: string };

const UNKNOWN_FAILURE = "Its workers keep failing. See their logs.";

/** `workersMin` is that of the endpoint: the number of workers that run without any call. */
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

const POLL_MS = 1_000;

export type ReadyEndpoint = { readonly name: string } & (
  | Readiness
  | { readonly state: "unknown"; readonly reason: string }
);

type WaitOptions = {
  readonly manifest: FlashManifest;
  readonly endpoints: readonly DeployedEndpoint[];
  /** 0: do not wait. */
  readonly limitSeconds: number;
};

/** Waits for workers; returns the final state of all endpoints that were saved. */
export async function awaitWorkers(
  cli: Cli,
  service: Service,
  { manifest, endpoints, limitSeconds }: WaitOptions,
): Promise<readonly ReadyEndpoint[]> {
  const saved = endpoints.flatMap(({ name, id, action }) =>
    id === null || action === "failed"
      ? []
      : [{ name, id, workersMin: manifest.resources[name]?.workersMin ?? 0 }],
  );
  if (limitSeconds === 0 || saved.length === 0) return [];
  const startedAt = performance.now();
  const failed = "Waiting for workers was interrupted; everything is deployed";
  return await inStep(cli.terminal, { title: "Waiting for workers", failed }, async (step) => {
    while (true) {
      const results = await Promise.all(saved.map((endpoint) => readReadiness(service, endpoint)));
      const isOver = performance.now() - startedAt > limitSeconds * 1_000;
      if (isOver || results.every(({ state }) => state !== "waiting")) {
        endStep(step, results, secondsSince(startedAt));
        return results;
      }
      step.update(detailOf(results));
      await setTimeout(POLL_MS, undefined, { signal: cli.signal }).catch(() => cli.signal.throwIfAborted());
    }
  });
}

/** Endpoints that have no worker of this version that accepts work, and why. */
export function unreadyOf(
  endpoints: readonly ReadyEndpoint[],
): readonly { readonly name: string; readonly reason: string }[] {
  return endpoints.flatMap((one) =>
    one.state === "failed" || one.state === "waiting"
      ? [{ name: one.name, reason: one.reason ?? "No worker is ready yet." }]
      : [],
  );
}

type SavedEndpoint = { readonly name: string; readonly id: string; readonly workersMin: number };

async function readReadiness(
  service: Service,
  { name, id, workersMin }: SavedEndpoint,
): Promise<ReadyEndpoint> {
  try {
    return { name, ...readinessOf(await service.read(`/v2/${id}/health`, healthSchema), workersMin) };
  } catch (error) {
    if (!(error instanceof ServiceFailure)) throw error;
    // It was deleted meanwhile, or the key may deploy but not read.
    return { name, state: error.code === "not_found" ? "failed" : "unknown", reason: error.message };
  }
}

function detailOf(results: readonly ReadyEndpoint[]): string {
  const waiting = results.filter(({ state }) => state === "waiting");
  const [reason] = waiting.flatMap((one) => (one.state === "waiting" && one.reason ? [one.reason] : []));
  const names = waiting.map(({ name }) => name).join(", ");
  return reason === undefined ? names : `${names}: ${reason}`;
}

function endStep(step: Step, results: readonly ReadyEndpoint[], seconds: number): void {
  const having = (state: ReadyEndpoint["state"]) => results.filter((one) => one.state === state);
  const [failed, waiting, ready] = [having("failed"), having("waiting"), having("ready")];
  const open = [...having("idle"), ...having("unknown")].map(({ name }) => name).join(", ");
  if (failed.length > 0)
    step.fail(`${counted(failed.length, "endpoint")} cannot start workers (${seconds} s)`);
  else if (waiting.length > 0) {
    step.fail(`${counted(waiting.length, "endpoint")} without a ready worker after ${seconds} s`);
  } else if (ready.length === 0) step.done(`No worker is running yet; the first call starts one: ${open}`);
  else {
    const others = open === "" ? "" : `; the first call starts one of ${open}`;
    step.done(`Workers of ${counted(ready.length, "endpoint")} are ready (${seconds} s)${others}`);
  }
}
