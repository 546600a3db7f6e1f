/** A load-balanced request does not wait while a worker could have it. */
import type { SimulatedHost } from "../host/host.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { World } from "../world/world.ts";
import { storagesOf } from "./endpoint-rows.ts";
import type { WorkerRow } from "./fleet-rows.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Requests } from "./requests.ts";

export type RequestPromptnessParts = {
  readonly world: World;
  readonly edge: SimulatedEdge;
  readonly plan: HistoryPlan;
  readonly hosts: readonly SimulatedHost[];
  readonly requests: Requests;
  /** As Fleet has them. */
  readonly workers: () => readonly WorkerRow[];
  readonly violate: (what: string) => void;
};

const LOOK_MS = 250;
const AFTER_JOBS = "SELECT json ->> '$.contention.afterJobs' AS epochs FROM fact WHERE name = 'report'";
/** A request that waits and a worker that takes requests meet within this time. */
const MEET_MS = 1_500;

export class RequestPromptness {
  readonly #parts: RequestPromptnessParts;
  #lookAt = 0;
  /** Since when workers take requests. */
  #openSince = new Map<string, number>();

  constructor(parts: RequestPromptnessParts) {
    this.#parts = parts;
  }

  checkStep(): void {
    const { world, requests } = this.#parts;
    if (!requests.isHarmless || world.elapsedMs < this.#lookAt) return;
    this.#lookAt = world.elapsedMs + LOOK_MS;
    requests.checkAbandoned();
    if (this.#parts.plan.isManaged) return; // a rollout holds workers back
    const open = this.#parts.workers().filter((worker) => this.#isOpen(worker));
    this.#openSince = new Map(
      open.map(({ worker_id: id }) => [id, this.#openSince.get(id) ?? world.elapsedMs]),
    );
    const before = world.elapsedMs - MEET_MS;
    const isOpenLong = ({ worker_id: id }: WorkerRow): boolean =>
      (this.#openSince.get(id) ?? Infinity) < before;
    for (const request of requests.all) {
      if (request.sentAt >= before || !this.#waits(request)) continue;
      const worker = open.find(
        (one) => one.endpoint_id === request.endpointId && isOpenLong(one) && !this.#givesWay(one),
      );
      if (worker)
        this.#parts.violate(`request ${request.mark} waits, and ${worker.worker_id} takes requests`);
    }
  }

  #waits(request: Requests["all"][number]): boolean {
    const { overAt, workerId, podId, isForeign } = request;
    const isForAny = workerId === null && podId === null;
    return overAt === null && isForAny && !isForeign && !this.#parts.requests.hasBegun(request);
  }

  /** It gets no more requests, since another endpoint has more of a right to its place. */
  #givesWay({ worker_id: workerId, endpoint_id: endpointId }: WorkerRow): boolean {
    const [storage] = storagesOf(this.#parts.edge, endpointId);
    const [row] = storage?.select(AFTER_JOBS) ?? [];
    const epochs = row?.["epochs"];
    return typeof epochs === "string" && epochs.includes(workerId);
  }

  #isOpen({
    worker_id: workerId,
    host_id: hostId,
    state,
    retired_in: retiredIn,
    standby_at: at,
  }: WorkerRow): boolean {
    if (state !== "ready" || retiredIn !== null || at !== null) return false;
    const container = this.#parts.hosts.find((one) => one.hostId === hostId)?.containers.all.get(workerId);
    return container?.isRunning === true && !container.isFrozen && container.spec.serverPorts !== undefined;
  }
}
