/**
 * What has to happen soon while nothing hinders it. `Liveness` asks whether anything goes on at all; this asks of each
 * job, worker and free place whether it had to wait for nothing.
 */
import type { SimulatedHost } from "../host/host.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { ObjectStorage } from "../runtime/storage.ts";
import type { World } from "../world/world.ts";
import type { Account } from "./account.ts";
import { endpointOf, nameOf, openJobs, type OpenJobs, type RunningJob } from "./endpoint-rows.ts";
import type { Executions } from "./executions.ts";
import type { WorkerRow } from "./fleet-rows.ts";
import { type FleetView, hostsWithPlace, stayingWorkers } from "./places.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

export type PromptnessParts = {
  readonly world: World;
  readonly edge: SimulatedEdge;
  readonly hosts: readonly SimulatedHost[];
  readonly plan: HistoryPlan;
  readonly executions: Executions;
  readonly accounts: readonly Account[];
  readonly fleet: FleetView;
  readonly violate: (what: string) => void;
};

/** These delay no job by more than SLOW_MS, and take no host, worker or object away from those who use it. */
const CALM: ReadonlySet<Fault> = new Set<Fault>([
  "hookFails",
  "objectEvicted",
  "requestsRepeated",
  "slowNetwork",
  "workerFails",
  "workerForgets",
  "workerRepeats",
]);
/** With others than these, calls to a host that is up may get lost or not be transferred out. */
const REACH_HOSTS: ReadonlySet<Fault> = new Set<Fault>([
  ...CALM,
  "agentKilled",
  "clockSkew",
  "objectCrashes",
  "powerLost",
  "redeployment",
  "scriptCrashes",
  "workerDies",
  "workerHangs",
]);

const LOOK_MS = 250;
const SLOW_MS = 5_000;
/** A job that waits and a worker that is idle meet within this time. */
const BEGIN_MS = 1_500;
/** A place for a worker that is needed is used within this time. */
const GROW_MS = 5_000;
/** An idle worker of another endpoint gives way within this time, and so many times what a start takes. */
const GIVE_WAY_MS = 10_000;
const STARTS = 6;
/** A handler is stopped within this time after its job was cancelled. */
const STOP_MS = 8_000;
/** An attempt that its worker has not begun is given out again within this time. */
const RETURN_MS = 12_000;

export class Promptness {
  readonly #parts: PromptnessParts;
  readonly #isCalm: boolean;
  readonly #reachesHosts: boolean;
  readonly #slackMs: number;
  /** Since when something has waited for what is there, by its name; what is not in the newest look is forgotten. */
  #since = new Map<string, number>();
  #lookAt = 0;

  constructor(parts: PromptnessParts) {
    const { faults } = parts.plan;
    this.#parts = parts;
    const kinds = [...faults.keys()];
    this.#isCalm = kinds.every((fault) => CALM.has(fault));
    this.#reachesHosts = kinds.every((fault) => REACH_HOSTS.has(fault));
    this.#slackMs = faults.has("slowNetwork") ? SLOW_MS : 0;
  }

  checkStep(): void {
    const { elapsedMs } = this.#parts.world;
    if (!this.#reachesHosts || elapsedMs < this.#lookAt) return;
    this.#lookAt = elapsedMs + LOOK_MS;
    const seen = new Map<string, number>();
    const lasts = (what: string, limitMs: number): boolean => {
      const since = this.#since.get(what) ?? elapsedMs;
      seen.set(what, since);
      return elapsedMs - since > limitMs + this.#slackMs;
    };
    const { workers } = this.#parts.fleet;
    for (const { name, storage } of this.#parts.edge.endpoints.objects.values())
      this.#checkObject(nameOf(name), storage, workers, lasts);
    this.#since = seen;
  }

  #checkObject(object: string, storage: ObjectStorage, workers: readonly WorkerRow[], lasts: Lasts): void {
    const jobs = openJobs(storage);
    const endpointId = endpointOf(object);
    this.#checkArrivals(object, jobs.running, lasts);
    if (!this.#isCalm) return;
    const own = workers.filter((worker) => worker.endpoint_id === endpointId);
    // Its other objects know of other jobs in its workers.
    if (this.#parts.plan.hasShards) return;
    this.#checkStops(endpointId, jobs.running, own, lasts);
    // A rollout holds workers back.
    if (this.#parts.plan.isManaged) return;
    this.#checkBegins(endpointId, jobs, own, lasts);
    this.#checkGrowth(endpointId, jobs, workers, lasts);
    this.#checkGivingWay(endpointId, jobs, workers, lasts);
  }

  /** An attempt that got lost on its way to its worker is given out again when its host is heard. */
  #checkArrivals(object: string, running: readonly RunningJob[], lasts: Lasts): void {
    const { executions, hosts, plan, violate } = this.#parts;
    const skewMs = 2 * (plan.faults.get("clockSkew") ?? 0);
    for (const { seq, workerId, hostId, startedAt } of running) {
      const host = hosts.find((one) => one.hostId === hostId);
      if (!host?.isUp || executions.hasBegun(object, seq, startedAt - skewMs)) continue;
      if (lasts(`arrival ${object} ${seq} ${startedAt} ${host.machine.life}`, RETURN_MS))
        violate(`job ${seq} was given to worker ${workerId}, which never got it`);
    }
  }

  /** No handler goes on for long whose job has ended. */
  #checkStops(
    endpointId: string,
    running: readonly RunningJob[],
    own: readonly WorkerRow[],
    lasts: Lasts,
  ): void {
    const { executions, violate } = this.#parts;
    const busy = new Set(running.map(({ workerId }) => workerId));
    for (const { worker_id: workerId } of own) {
      const mark = executions.executionIn(workerId);
      if (busy.has(workerId) || mark === undefined) continue;
      if (lasts(`stop ${endpointId} ${workerId} ${mark}`, STOP_MS))
        violate(`${workerId} still runs a job that has ended`);
    }
  }

  /** A job that waits goes to a worker that is idle. */
  #checkBegins(endpointId: string, jobs: OpenJobs, own: readonly WorkerRow[], lasts: Lasts): void {
    const { violate, world } = this.#parts;
    const busy = new Set(jobs.running.map(({ workerId }) => workerId));
    const idle = own.filter((worker) => !busy.has(worker.worker_id) && this.#isIdle(worker));
    const idleLong = idle.filter((worker) => lasts(`idle ${worker.worker_id}`, BEGIN_MS));
    const waitingLong = jobs.waiting.filter(
      ({ seq, expiresAt }) => expiresAt > world.now && lasts(`waiting ${endpointId} ${seq}`, BEGIN_MS),
    );
    const [worker] = idleLong;
    const [job] = waitingLong;
    if (worker && job) violate(`job ${job.seq} waits, and worker ${worker.worker_id} is idle`);
  }

  #isIdle({ worker_id: workerId, host_id: hostId, state, retired_in: retiredIn }: WorkerRow): boolean {
    if (state !== "ready" || retiredIn !== null) return false;
    const host = this.#parts.hosts.find((one) => one.hostId === hostId);
    const container = host?.containers.all.get(workerId);
    return container?.isRunning === true && !container.isFrozen && !this.#parts.executions.isBusy(container);
  }

  /** No worker stays idle whose place would do for an endpoint that has none, and jobs that wait. */
  #checkGivingWay(endpointId: string, jobs: OpenJobs, workers: readonly WorkerRow[], lasts: Lasts): void {
    const { accounts, fleet, plan, violate } = this.#parts;
    const isWaiting = jobs.waiting.some(({ isLow }) => !isLow);
    const account = accounts.find((one) => one.owns(endpointId));
    if (!account || !isWaiting || plan.workersMax === 0 || stayingWorkers(endpointId, workers).length > 0)
      return;
    for (const worker of workers) {
      const { endpoint_id: holder, worker_id: workerId, is_pod: isPod } = worker;
      const isSpare = isPod === 0 && holder !== endpointId && account.owns(holder) && this.#isIdle(worker);
      if (!isSpare || stayingWorkers(holder, workers).length <= plan.workersMin) continue;
      const without = { ...fleet, workers: workers.filter((one) => one !== worker) };
      if (hostsWithPlace(accounts, endpointId, without).length === 0) continue;
      if (lasts(`gives way ${endpointId} ${workerId}`, GIVE_WAY_MS + STARTS * plan.startMs))
        violate(`${workerId} of ${holder} is idle, and jobs of ${endpointId} wait for a worker`);
    }
  }

  /** A worker is added where jobs wait for one and there is a place. */
  #checkGrowth(endpointId: string, jobs: OpenJobs, workers: readonly WorkerRow[], lasts: Lasts): void {
    const { accounts, fleet, plan, violate } = this.#parts;
    const { scalerType, scalerValue, workersMax } = plan;
    const waiting = jobs.waiting.filter(({ isLow }) => !isLow).length;
    const staying = stayingWorkers(endpointId, workers).length;
    const count = waiting + jobs.running.length;
    const asked = scalerType === "REQUEST_COUNT" ? count : Math.ceil(count / plan.jobsPerWorker);
    const most = Math.min(
      workersMax,
      scalerType === "REQUEST_COUNT" ? Math.ceil(asked / scalerValue) : asked,
    );
    const hasPlace = hostsWithPlace(accounts, endpointId, fleet).length > 0;
    if (waiting === 0 || staying >= most || !hasPlace) return;
    const delayMs = scalerType === "REQUEST_COUNT" || staying === 0 ? 0 : 2_000 * scalerValue;
    if (lasts(`growth ${endpointId} ${staying}`, GROW_MS + delayMs))
      violate(
        `${waiting} jobs of ${endpointId} wait, and it has ${staying} workers of ${most} though there is a place`,
      );
  }
}

type Lasts = (what: string, limitMs: number) => boolean;
