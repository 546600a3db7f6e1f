/** What holds in every history: after each step, and at its end. */
import type { Container } from "../host/containers.ts";
import type { SimulatedHost } from "../host/host.ts";
import type { WorkerObserver } from "../host/worker.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { World } from "../world/world.ts";
import type { Answer, SimulatedClient } from "./client.ts";
import type { HookReceiver } from "./hooks.ts";
import type { HistoryPlan } from "./plan.ts";

export type InvariantsParts = {
  readonly world: World;
  readonly edge: SimulatedEdge;
  readonly hosts: readonly SimulatedHost[];
  readonly clients: readonly SimulatedClient[];
  readonly hooks: HookReceiver;
  readonly plan: HistoryPlan;
};

/**
 * Changes of a row: state before and after, and attempts that were added. A claim may be told by no row of its own, but
 * with what ended it.
 */
const CHANGES = new Set([
  "none > running 1",
  "queued > queued 1",
  "queued > completed 1",
  "queued > failed 1",
  "queued > timed_out 1",
  "queued > cancelled 1",
  "none > queued 0",
  "queued > queued 0",
  "queued > running 1",
  "queued > cancelled 0",
  "running > running 0",
  "running > queued 0",
  "running > completed 0",
  "running > failed 0",
  "running > timed_out 0",
  "running > cancelled 0",
  "completed > completed 0",
  "failed > failed 0",
  "failed > queued 0",
  "timed_out > timed_out 0",
  "timed_out > queued 0",
  "cancelled > cancelled 0",
]);

const OPEN = new Set(["queued", "running"]);

export class Invariants {
  readonly violations: string[] = [];
  /** How often each change of a job was seen. */
  readonly changes = new Map<string, number>();
  readonly #parts: InvariantsParts;
  readonly #seen = new Set<string>();
  /** Queued jobs were removed, of which no webhook tells. */
  hasPurged = false;
  #uncaught = 0;

  constructor(parts: InvariantsParts) {
    this.#parts = parts;
  }

  readonly observer: WorkerObserver = { began: () => {}, ended: () => {} };

  violate(what: string): void {
    if (this.#seen.has(what)) return;
    this.#seen.add(what);
    const line = `${(this.#parts.world.elapsedMs / 1_000).toFixed(3)} s: ${what}`;
    if (this.violations.length < 20) this.violations.push(line);
    this.#parts.world.note("invariants", what);
  }

  /** A caller's mistake or a fault of the platform is never an internal error without a name. */
  answered(what: string, { status, body }: Answer): void {
    if (status === 500 && !this.#hasPlatformFaults())
      this.violate(`${what} got 500: ${JSON.stringify(body)}`);
  }

  checkStep(): void {
    this.#checkChanges();
    for (const host of this.#parts.hosts) this.#checkGpus(host);
    const { uncaught } = this.#parts.world;
    for (; this.#uncaught < uncaught.length; this.#uncaught += 1) {
      const error = uncaught[this.#uncaught];
      this.violate(`uncaught: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  }

  /** All jobs have ended, and all containers that no longer have work are gone or idle. */
  isSettled(): boolean {
    return this.#openJobs().length === 0 && this.#missingHooks().length === 0;
  }

  /** Every change of a job is one of the table. */
  #checkChanges(): void {
    for (const { storage } of this.#parts.edge.endpoints.objects.values()) {
      for (const { seq, before, after, attempts } of storage.takeChanges()) {
        const change = `${before ?? "none"} > ${after} ${attempts}`;
        this.changes.set(change, (this.changes.get(change) ?? 0) + 1);
        if (!CHANGES.has(change)) this.violate(`job ${seq} changed: ${change} attempts`);
      }
    }
  }

  /** Some time after everything has ended: no container is left that Fleet knows nothing of. */
  #checkContainers(): void {
    const known = new Set(
      [...this.#parts.edge.fleets.objects.values()]
        .flatMap(({ storage }) => storage.rowsOf("worker"))
        .map(({ worker_id: workerId }) => String(workerId)),
    );
    for (const { hostId, containers } of this.#parts.hosts) {
      for (const workerId of containers.all.keys()) {
        if (!known.has(workerId))
          this.violate(`host ${hostId} still has container ${workerId}, which nobody wants`);
      }
    }
  }

  checkEnd(haveClientsEnded: boolean): void {
    this.#checkContainers();
    if (!haveClientsEnded) this.violate("a client still waits for an answer");
    for (const job of this.#openJobs()) this.violate(`a job has not ended: ${JSON.stringify(job)}`);
    for (const url of this.#missingHooks()) this.violate(`no webhook came to ${url}; ${this.#deliveries()}`);
  }

  #hasPlatformFaults(): boolean {
    const { faults } = this.#parts.plan;
    return ["callsLost", "answersLost", "objectCrashes", "redeployment", "scriptCrashes"].some((fault) =>
      faults.has(fault as never),
    );
  }

  /** Two containers that run never have the same GPU. */
  #checkGpus({ hostId, containers }: SimulatedHost): void {
    if (containers.all.size < 2) return;
    const owners = new Map<number, Container>();
    for (const container of containers.all.values()) {
      if (!container.isRunning) continue;
      for (const index of container.spec.gpuIndexes) {
        const other = owners.get(index);
        if (other) {
          const names = `${other.spec.workerId} and ${container.spec.workerId}`;
          this.violate(`GPU ${index} of ${hostId} has two containers: ${names}`);
        }
        owners.set(index, container);
      }
    }
  }

  #openJobs(): Record<string, unknown>[] {
    if (this.hasPurged) return []; // whose rows say so only later
    return [...this.#parts.edge.endpoints.objects.values()]
      .flatMap(({ storage }) => storage.rowsOf("job"))
      .filter(({ state }) => OPEN.has(String(state)));
  }

  #deliveries(): string {
    const { objects } = this.#parts.edge.endpoints;
    const pages = [...objects.values()].flatMap(({ storage }) => storage.rowsOf("webhook_page"));
    return `pages of the outbox: ${JSON.stringify(pages)}`;
  }

  /** Ends that a webhook should have told, if its receiver does not fail. */
  #missingHooks(): string[] {
    if (this.hasPurged || this.#parts.plan.faults.has("hookFails") || this.#hasPlatformFaults()) return [];
    const { taken } = this.#parts.hooks;
    return this.#parts.clients.flatMap(({ jobs }) =>
      jobs.flatMap(({ hook }) => (hook !== null && !taken.has(hook) ? [hook] : [])),
    );
  }
}
