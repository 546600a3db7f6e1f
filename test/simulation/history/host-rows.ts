/** What holds between the jobs of the edge, the journals of agents, and what their containers run. */
import { decodeJobId } from "../../../src/domain/jobs/job-id.ts";
import type { Container } from "../host/containers.ts";
import type { SimulatedHost } from "../host/host.ts";
import { rowsIn } from "../host/modules/sqlite.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { JobChange, ObjectStorage } from "../runtime/storage.ts";
import type { World } from "../world/world.ts";
import type { Calm } from "./calm.ts";
import { endpointOf, objectOf } from "./endpoint-rows.ts";
import type { Executions } from "./executions.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

export type HostRowsParts = {
  readonly world: World;
  readonly edge: SimulatedEdge;
  readonly plan: HistoryPlan;
  readonly executions: Executions;
  readonly hosts: readonly SimulatedHost[];
  readonly calm: Calm;
  readonly violate: (what: string) => void;
};

type RefRow = {
  readonly job_id: string;
  readonly attempt: number;
  readonly worker_id: string;
  readonly endpoint_id: string;
};
type OpenRow = {
  readonly seq: number;
  readonly state: string;
  readonly attempt: number;
  readonly hostId: string;
};

const OPEN_JOBS =
  "SELECT seq, state, attempt, host_id AS hostId FROM job WHERE state IN ('running', 'queued')";
const CLAIMS = "SELECT name, json FROM fact WHERE name >= 'claims:' AND name < 'claims;'";

const LOOK_MS = 250;
/**
 * A worker without jobs takes one that waits for it within this; or the job is lost with it. Of one that takes several
 * only its pings show that an agent before did not give it a job.
 */
const UNTAKEN_MAX_MS = 5_000;
const UNTAKEN_OF_SEVERAL_MAX_MS = 10_000;
/** A handler whose job has ended is stopped, and killed after a grace of 5 s, within this. */
const UNWANTED_MAX_MS = 20_000;
/** An agent hears of the end of a job within this. */
const NOTIFIED_MS = 500;
/** A job is at the host that has claimed it, or is given back, within this; and sooner where no call fails. */
const UNDELIVERED_MAX_MS = 15_000;
const UNDELIVERED_QUICK_MS = 1_000;
/** An agent whose disk has lost which process was before it shows so only with a reply, for which it waits. */
const FORGOTTEN_MAX_MS = 25_000;
/** With these a call takes long, or has to be made again. */
const DELAY_CALLS: readonly Fault[] = [
  "objectCrashes",
  "objectEvicted",
  "redeployment",
  "scriptCrashes",
  "requestsRepeated",
  "r2Fails",
];

const FINAL = new Set(["completed", "failed", "cancelled", "timed_out"]);

export class HostRows {
  readonly #parts: HostRowsParts;
  /** Since when what is wrong for a moment has been so, true time in ms of the history. */
  #since = new Map<string, number>();
  #stillWrong = new Map<string, number>();
  /** When jobs ended at the edge, by the keys of `keyOf`. */
  readonly #endedAt = new Map<string, number>();
  readonly #isQuick: boolean;
  #lookAt = 0;

  constructor(parts: HostRowsParts) {
    this.#parts = parts;
    this.#isQuick = !DELAY_CALLS.some((fault) => parts.plan.faults.has(fault));
  }

  /** `endpoint`: the name of its object. */
  jobChanged(endpoint: string, { seq, after }: JobChange): void {
    const key = keyOf(endpoint, seq);
    if (FINAL.has(after)) this.#endedAt.set(key, this.#endedAt.get(key) ?? this.#parts.world.elapsedMs);
    else this.#endedAt.delete(key);
  }

  /**
   * No handler begins for a job that has ended, once its agent has been told. `readMs`: how long ago the agent had
   * nothing left to tell.
   */
  begun(jobId: string, container: Container, readMs: number): void {
    const { world, hosts, calm, violate } = this.#parts;
    const { endpointId, workerId } = container.spec;
    const host = hosts.find((one) => one.containers.all.get(workerId) === container);
    const endedAt = this.#endOf(objectOf(endpointId, jobId), seqOf(jobId));
    if (!host || endedAt === undefined || !this.#isQuick) return;
    const agoMs = world.elapsedMs - readMs - endedAt;
    if (agoMs > NOTIFIED_MS && calm.ofCalls(host) > agoMs)
      violate(`${workerId} begins ${jobId}, which has ended`);
  }

  checkStep(): void {
    const { world, hosts } = this.#parts;
    if (world.elapsedMs < this.#lookAt) return;
    this.#lookAt = world.elapsedMs + LOOK_MS;
    this.#stillWrong = new Map();
    const held = new Map(hosts.map((host) => [host.hostId, this.#checkJournal(host)]));
    for (const host of hosts) this.#checkContainers(host);
    this.#checkClaims(held);
    this.#since = this.#stillWrong;
  }

  /** Every attempt of the journal has a worker that runs it, or takes it soon. Returns the jobs that it has. */
  #checkJournal(host: SimulatedHost): ReadonlySet<string> {
    const attempts = rowsIn(host.stateDir, "attempt") as RefRow[];
    const reports = rowsIn(host.stateDir, "report") as RefRow[];
    const { calm, executions } = this.#parts;
    const calmMs = calm.ofHost(host);
    for (const { job_id: jobId, attempt, worker_id: workerId } of attempts) {
      const container = host.containers.all.get(workerId);
      if (container?.isRunning && executions.hasNoPlaceFor(jobId, container)) continue;
      const what = `the journal of ${host.hostId} has attempt ${attempt} of ${jobId}, which ${workerId} does not take`;
      if (container?.isRunning && container.repliesRead > 0) continue; // it may be in one
      this.#lasts(
        what,
        calmMs,
        this.#parts.plan.jobsPerWorker > 1 ? UNTAKEN_OF_SEVERAL_MAX_MS : UNTAKEN_MAX_MS,
      );
    }
    return new Set([...attempts, ...reports].map((row) => jobOf(row)));
  }

  #checkContainers(host: SimulatedHost): void {
    const calmMs = Math.min(this.#parts.calm.ofHost(host), this.#parts.calm.ofCalls(host));
    for (const [workerId, container] of host.containers.all) {
      if (!container.isRunning || container.isFrozen) continue;
      const ended = this.#endedInside(container);
      if (ended !== undefined)
        this.#lasts(`${workerId} still runs ${ended}, which has ended`, calmMs, UNWANTED_MAX_MS);
    }
  }

  /** A job inside, when all that its agent knows to be inside have ended at the edge. */
  #endedInside(container: Container): string | undefined {
    const { executions } = this.#parts;
    const { endpointId } = container.spec;
    const hasEnded = (jobId: string): boolean =>
      this.#endOf(objectOf(endpointId, jobId), seqOf(jobId)) !== undefined;
    return executions.insideOf(container).every(hasEnded) ? executions.jobsIn(container)[0] : undefined;
  }

  /** When a job has ended at the edge. What was not durable when the object crashed has not happened. */
  #endOf(endpoint: string, seq: number): number | undefined {
    const endedAt = this.#endedAt.get(keyOf(endpoint, seq));
    if (endedAt === undefined) return undefined;
    const rows = this.#parts.edge.endpoints.objects.get(endpoint)?.storage.select(OPEN_JOBS) ?? [];
    return (rows as OpenRow[]).some((row) => row.seq === seq) ? undefined : endedAt;
  }

  /** What runs on a host for the edge is known to its agent. */
  #checkClaims(held: ReadonlyMap<string, ReadonlySet<string>>): void {
    const { edge, hosts, calm } = this.#parts;
    const calmMs = new Map(hosts.map((host) => [host.hostId, calm.ofCalls(host)]));
    const limitMs = this.#undeliveredMaxMs;
    for (const [name, { storage }] of edge.endpoints.objects) {
      for (const { seq, attempt, hostId } of claimsIn(storage)) {
        if (held.get(hostId)?.has(keyOf(name, seq)) !== false) continue;
        if (!edge.hasEndpoint(endpointOf(name))) continue; // hosts learn of its deletion before its object may
        const what = `job ${seq} of ${name} runs at ${hostId} for the edge, in attempt ${attempt}, but not there`;
        this.#lasts(what, calmMs.get(hostId) ?? 0, limitMs);
      }
    }
  }

  get #undeliveredMaxMs(): number {
    if (this.#parts.plan.faults.has("diskLies")) return FORGOTTEN_MAX_MS;
    return this.#isQuick ? UNDELIVERED_QUICK_MS : UNDELIVERED_MAX_MS;
  }

  /** It may be so for a moment; `calmMs`: for how long nothing has kept it from becoming right. */
  #lasts(what: string, calmMs: number, limitMs: number): void {
    const { world, violate } = this.#parts;
    const since = this.#since.get(what) ?? world.elapsedMs;
    this.#stillWrong.set(what, since);
    if (Math.min(world.elapsedMs - since, calmMs) > limitMs) violate(`${what}, for long`);
  }
}

/** What runs for the edge. That a job was claimed as the first of its queue is not in its row. */
function claimsIn(storage: ObjectStorage): OpenRow[] {
  const rows = storage.select(OPEN_JOBS) as OpenRow[];
  if (rows.length === 0) return [];
  const claimed = new Map(storage.select(CLAIMS).flatMap(hostsOf));
  return rows.flatMap((row) => {
    if (row.state === "running") return row;
    const hostId = row.attempt === 0 ? claimed.get(row.seq) : undefined;
    return hostId === undefined ? [] : { ...row, hostId, attempt: 1 };
  });
}

function hostsOf({ name, json }: Record<string, unknown>): (readonly [seq: number, hostId: string])[] {
  const hostId = String(name).slice("claims:".length);
  return (JSON.parse(String(json)) as readonly (readonly [seq: number])[]).map(([seq]) => [seq, hostId]);
}

function seqOf(jobId: string): number {
  return decodeJobId(jobId)?.seq ?? 0;
}

function jobOf({ endpoint_id: endpointId, job_id: jobId }: RefRow): string {
  return keyOf(objectOf(endpointId, jobId), seqOf(jobId));
}

function keyOf(endpoint: string, seq: number): string {
  return `${endpoint}/${seq}`;
}
