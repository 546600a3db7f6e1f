/** Waiting until the new workers of each endpoint are ready, or cannot become ready, with a live line for each. */
import { setTimeout } from "node:timers/promises";
import type { FlashManifest } from "../../src/contract/flash/flash-manifest.ts";
import type { Cli } from "../core/cli.ts";
import { secondsSince } from "../core/format.ts";
import type { Step } from "../core/terminal.ts";
import { ServiceFailure, type Service } from "../service/service.ts";
import { endpointVersions } from "../service/version-operations.ts";
import type { DeployedEndpoint } from "./deployment.ts";
import {
  countWorkers,
  healthSchema,
  readinessOf,
  type Readiness,
  trialReadinessOf,
  type WorkerCount,
} from "./readiness.ts";
import { Trial } from "./trial.ts";

const POLL_MS = 1_000;
/** Limit of the last calls, also after Ctrl+C. */
const TRIAL_END_LIMIT_MS = 3_000;

type KnownReadiness = Readiness | { readonly state: "unknown"; readonly reason: string };

export type ReadyEndpoint = KnownReadiness & {
  readonly name: string;
  readonly id: string;
  readonly version: number;
  readonly workers: WorkerCount;
};

export type WaitSettings = {
  /** 0: do not wait. */
  readonly limitSeconds: number;
  /** Endpoints without minimum workers start one for the time of the wait. */
  readonly hasTrials: boolean;
};

type WaitOptions = {
  readonly manifest: FlashManifest;
  readonly endpoints: readonly SavedEndpoint[];
} & WaitSettings;

type SavedEndpoint = Pick<DeployedEndpoint, "name" | "id" | "version" | "action">;

/**
 * Returns the final state of all endpoints that were saved; one that still waits at the limit is in the state
 * `waiting`.
 */
export async function awaitWorkers(
  cli: Cli,
  service: Service,
  { manifest, endpoints, limitSeconds, hasTrials }: WaitOptions,
): Promise<readonly ReadyEndpoint[]> {
  if (limitSeconds === 0) return [];
  const waits = awaitedOf(manifest, endpoints).map((endpoint) => {
    const isOnTrial = hasTrials && endpoint.workersMin === 0 && endpoint.workersMax > 0;
    return new Wait(cli, service, { ...endpoint, isOnTrial });
  });
  const endsAt = performance.now() + limitSeconds * 1_000;
  try {
    while (true) {
      const open = waits.filter(({ result }) => result === undefined);
      const found = await Promise.all(open.map((wait) => wait.read()));
      const isLast = performance.now() >= endsAt;
      for (const [index, wait] of open.entries()) wait.show(found[index], isLast);
      const results = waits.flatMap(({ result }) => result ?? []);
      if (results.length === waits.length) return results;
      await setTimeout(POLL_MS, undefined, { signal: cli.signal });
    }
  } catch (error) {
    for (const wait of waits) wait.interrupt();
    cli.signal.throwIfAborted();
    throw error;
  } finally {
    const last = service.withSignal(AbortSignal.timeout(TRIAL_END_LIMIT_MS));
    await Promise.all(waits.map((wait) => wait.endTrial(last)));
  }
}

/** Endpoints that have no worker of this version that accepts work, and why. */
export function unreadyOf(
  endpoints: readonly ReadyEndpoint[],
): readonly { readonly id: string; readonly name: string; readonly reason: string }[] {
  return endpoints.flatMap((one) =>
    one.state === "failed" || one.state === "waiting"
      ? [{ id: one.id, name: one.name, reason: one.reason ?? "No worker is ready yet." }]
      : [],
  );
}

type AwaitedEndpoint = {
  readonly name: string;
  readonly id: string;
  readonly version: number;
  /** How many workers run without any call. */
  readonly workersMin: number;
  readonly workersMax: number;
};

function awaitedOf(manifest: FlashManifest, endpoints: readonly SavedEndpoint[]): readonly AwaitedEndpoint[] {
  return endpoints.flatMap(({ name, id, version, action }) =>
    id === null || version === null || action === "failed"
      ? []
      : [{ name, id, version, ...limitsOf(manifest, name) }],
  );
}

function limitsOf({ resources }: FlashManifest, name: string) {
  const { workersMin = 0, workersMax = 1 } = resources[name] ?? {};
  return { workersMin, workersMax };
}

const NO_WORKERS: WorkerCount = { ready: 0, total: 0 };

/** The wait for one endpoint; its step ends with it. */
class Wait {
  readonly #service: Service;
  readonly #endpoint: AwaitedEndpoint;
  readonly #title: string;
  readonly #step: Step;
  readonly #trial: Trial | undefined;
  readonly #startedAt = performance.now();
  /** During a rollout the number of outdated workers shrinks, but not that of the workers to come. */
  #total = 0;
  #result: ReadyEndpoint | undefined;
  /** A share of the jobs has tried this version. */
  #wasCanary = false;

  constructor(
    cli: Cli,
    service: Service,
    { isOnTrial, ...endpoint }: AwaitedEndpoint & { readonly isOnTrial: boolean },
  ) {
    this.#service = service;
    this.#endpoint = endpoint;
    this.#title = `${endpoint.name} v${endpoint.version}:`;
    this.#step = cli.terminal.step(`${this.#title} waiting for workers`);
    this.#trial = isOnTrial ? new Trial(service, endpoint.id) : undefined;
  }

  /** How it ended; undefined while it waits. */
  get result(): ReadyEndpoint | undefined {
    return this.#result;
  }

  /** Shows what was read; what still waits at the last time ends too. */
  show(found: ReadyEndpoint | undefined, isLast: boolean): void {
    if (found === undefined) return;
    if ((found.state === "waiting" || found.state === "trying") && !isLast)
      return this.#step.update(this.#progressOf(found));
    this.#result = found;
    this.#end(found);
  }

  interrupt(): void {
    if (this.#result !== undefined) return;
    this.#step.fail(`${this.#title} waiting for workers was interrupted; everything is deployed`);
  }

  async read(): Promise<ReadyEndpoint> {
    const { id, name, version, workersMin } = this.#endpoint;
    try {
      const isOnTrial = (await this.#trial?.extend()) ?? false;
      const health = await this.#service.read(`/v2/${id}/health`, healthSchema);
      const { ready, total } = countWorkers(health, isOnTrial ? 1 : workersMin);
      this.#total = health.release === null ? total : Math.max(this.#total, total);
      const workers = { ready, total: this.#total };
      const readiness =
        (this.#wasCanary && !health.canary ? await this.#outcomeOfCanary() : undefined) ??
        (isOnTrial ? trialReadinessOf(health) : readinessOf(health, workersMin));
      this.#wasCanary ||= readiness.state === "trying";
      return { id, name, version, ...readiness, workers };
    } catch (error) {
      if (!(error instanceof ServiceFailure)) throw error;
      // It was deleted meanwhile, or the key may deploy but not read.
      const state = error.code === "not_found" ? "failed" : "unknown";
      return { id, name, version, state, reason: error.message, workers: NO_WORKERS };
    }
  }

  /** Undefined where this version has gone on; only its next version says that it has gone back. */
  async #outcomeOfCanary(): Promise<Readiness | undefined> {
    const { id, version } = this.#endpoint;
    const { myself } = await this.#service.query(endpointVersions, { id });
    const [latest] = myself.endpoint?.releases ?? [];
    if (!latest || latest.version === version) return undefined;
    return {
      state: "failed",
      reason: `There is v${latest.version} now: ${latest.reason ?? "it was changed"}.`,
    };
  }

  async endTrial(service: Service): Promise<void> {
    await this.#trial?.end(service);
  }

  #progressOf(found: ReadyEndpoint): string {
    const reason = "reason" in found && found.reason !== undefined ? `, ${found.reason}` : "";
    return `${readyOf(found.workers)}, ${secondsSince(this.#startedAt)} s${reason}`;
  }

  #end(found: ReadyEndpoint): void {
    const { workers } = found;
    const seconds = `${secondsSince(this.#startedAt)} s`;
    if (found.state === "ready") this.#step.done(`${this.#title} ${readyOf(workers)}, ${seconds}`);
    else if (found.state === "idle" && found.reason !== undefined) {
      this.#step.warn(`${this.#title} not tested, since no worker can start now: ${found.reason}`);
    } else if (found.state === "idle") {
      this.#step.done(`${this.#title} no worker runs; the first call starts one`);
    } else if (found.state === "trying") {
      this.#step.warn(`${this.#title} is still on trial and goes on or back by itself: ${found.reason}`);
    } else if (found.state === "unknown") {
      this.#step.warn(`${this.#title} its workers cannot be watched: ${found.reason}`);
    } else this.#step.fail(`${this.#title} ${readyOf(workers)} after ${seconds}`);
  }
}

function readyOf({ ready, total }: WorkerCount): string {
  return `${ready} of ${total} workers ready`;
}
