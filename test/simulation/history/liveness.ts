/** What has to go on once there are no more faults. */
import type { SimulatedHost } from "../host/host.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { World } from "../world/world.ts";
import { openJobs } from "./endpoint-rows.ts";
import type { Executions } from "./executions.ts";
import type { HistoryPlan } from "./plan.ts";

export type LivenessParts = {
  readonly world: World;
  readonly edge: SimulatedEdge;
  readonly plan: HistoryPlan;
  readonly executions: Executions;
  readonly hosts: readonly SimulatedHost[];
  /** Load-balanced requests keep workers in their places. */
  readonly hasServed: () => boolean;
  readonly violate: (what: string) => void;
};

/** Hosts that were lost are found again, and workers start, in this time. */
const RECOVERY_MS = 90_000;
/** A worker whose host cannot pull its image is tried on another host within this. */
const MOVE_MS = 130_000;
/** Beyond the time that handlers may take, something begins or ends within this while a job waits. */
const STANDSTILL_MS = 30_000;
const LOOK_MS = 1_000;

export class Liveness {
  readonly #parts: LivenessParts;
  #begunAt: number | null = null;
  #lookAt = 0;
  #queuedSince: number | null = null;

  constructor(parts: LivenessParts) {
    this.#parts = parts;
  }

  /** There are no more faults from now on. */
  begin(): void {
    this.#begunAt = this.#parts.world.elapsedMs;
  }

  /** Work that waits begins in a bounded time: there are hosts for it. */
  checkStep(): void {
    const { elapsedMs } = this.#parts.world;
    if (this.#begunAt === null || elapsedMs < this.#lookAt) return;
    this.#lookAt = elapsedMs + LOOK_MS;
    const queued = this.#queued();
    if (queued === 0 || this.#parts.hasServed()) this.#queuedSince = null;
    else this.#queuedSince ??= elapsedMs;
    if (this.#queuedSince === null) return;
    const stillSince = Math.max(
      this.#queuedSince,
      this.#parts.executions.lastAt,
      this.#begunAt + RECOVERY_MS + (this.#parts.hosts.some(({ images }) => images.isLost) ? MOVE_MS : 0),
    );
    const { executionTimeoutMs, idleTimeoutS, endpointGpus, hasRequests, hasDeletions } = this.#parts.plan;
    // Workers of other endpoints keep their places while they are idle.
    const idleMs = endpointGpus.length > 1 || hasRequests || hasDeletions ? idleTimeoutS * 1_000 : 0;
    if (elapsedMs - stillSince > executionTimeoutMs + idleMs + STANDSTILL_MS)
      this.#parts.violate(`${queued} jobs wait and nothing has begun or ended since ${stillSince} ms`);
  }

  #queued(): number {
    const { objects } = this.#parts.edge.endpoints;
    return [...objects.values()]
      .flatMap(({ storage }) => openJobs(storage).waiting)
      .filter(({ isLow }) => !isLow).length;
  }
}
