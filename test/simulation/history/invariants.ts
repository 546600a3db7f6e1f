/** What holds in every history: after each step, and at its end. */
import { Secrets } from "./secrets.ts";
import { decodeJobId } from "../../../src/domain/jobs/job-id.ts";
import type { SimulatedHost } from "../host/host.ts";
import { rowsIn } from "../host/modules/sqlite.ts";
import { isInjected } from "../runtime/injected.ts";
import type { Network } from "../runtime/network.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { JobChange } from "../runtime/storage.ts";
import type { World } from "../world/world.ts";
import type { Account } from "./account.ts";
import { violationsOfCancels } from "./batch-cancels.ts";
import { Calm } from "./calm.ts";
import { ClosedHosts } from "./closed-hosts.ts";
import { ClaimOrder } from "./claim-order.ts";
import type { Answer, AnsweredCall, SimulatedClient } from "./client.ts";
import { openJobs, storagesOf, type StoredJob, storedJobs } from "./endpoint-rows.ts";
import type { HookReceiver } from "./hooks.ts";
import { Executions } from "./executions.ts";
import { FleetRows, type WorkerRow } from "./fleet-rows.ts";
import { HostRows } from "./host-rows.ts";
import type { JobEnd } from "./openai-user.ts";
import { violationsOf, isRetry, markOf, nameOf } from "./job-rows.ts";
import { overfullGpus } from "./gpus.ts";
import { Isolation } from "./isolation.ts";
import { isLinearizable } from "./linearizability.ts";
import { Logs } from "./logs.ts";
import { GrowthLimits } from "./growth.ts";
import { IdleTimes } from "./idle-times.ts";
import { LeastWorkers } from "./least-workers.ts";
import { Liveness } from "./liveness.ts";
import { Outputs } from "./outputs.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";
import { Purges } from "./purges.ts";
import { RemovedHosts } from "./removed-hosts.ts";
import { Rollouts } from "./rollouts.ts";
import { Promptness } from "./promptness.ts";
import { RequestPromptness } from "./request-promptness.ts";
import { unjustified } from "./quiet-answers.ts";
import { Requests } from "./requests.ts";
import { WebhookPauses } from "./webhook-pauses.ts";
import { Webhooks } from "./webhooks.ts";

export type InvariantsParts = {
  readonly world: World;
  readonly network: Network;
  readonly edge: SimulatedEdge;
  readonly hosts: readonly SimulatedHost[];
  readonly accounts: readonly Account[];
  /** Those of all accounts. */
  readonly clients: readonly SimulatedClient[];
  readonly hooks: HookReceiver;
  readonly plan: HistoryPlan;
  /** An endpoint has written something. */
  readonly onWrite: () => void;
  /** Faults that happened a short time ago. */
  readonly recentFaults: () => readonly Fault[];
};

const PLATFORM_FAULTS: readonly Fault[] = [
  "callsLost",
  "answersLost",
  "objectCrashes",
  "redeployment",
  "scriptCrashes",
  "d1Fails",
  "r2Fails",
];
const DELAYING_FAULTS: readonly Fault[] = ["slowNetwork", "objectEvicted", "clockSkew"];
/** Tables of an agent's journal with what it does for jobs. */
const JOURNAL = ["attempt", "report", "chunk"];
/** With these a job may be lost on a host before its worker has it; a host is given up sooner than a lease. */
const LOSE_JOBS: readonly Fault[] = [
  "agentKilled",
  "agentPartitioned",
  "containerDies",
  "daemonBroken",
  "diskFull",
  "powerLost",
  "workerDies",
];
/** Why a job is given back that waits for an earlier attempt of its own, which does not stop. */
const BEHIND_ITSELF = "still ran an earlier attempt of this job";
/** How lines of `logFailure` begin. */
const FAILURE = `{"event":`;
const UNFINISHED_BATCH = new Set(["starting", "cancelling"]);

export type AtEnd = {
  readonly isClientWaiting: boolean;
  /** A connection or a command of a tunnel is there in a container. */
  readonly isTunnelEndLeft: boolean;
};

/** By change, and by fault. */
export type Changes = Map<string, Map<Fault | "none", number>>;

export class Invariants {
  readonly violations: string[] = [];
  /** How often each change of a job was seen soon after which fault, or after none. */
  readonly changes: Changes = new Map();
  readonly #parts: InvariantsParts;
  readonly #seen = new Set<string>();
  readonly executions: Executions;
  readonly #fleet: FleetRows;
  readonly #liveness: Liveness;
  readonly #calm: Calm;
  readonly #hostRows: HostRows;
  readonly #promptness: Promptness;
  readonly #leastWorkers: LeastWorkers;
  readonly #idleTimes: IdleTimes;
  readonly #growth: GrowthLimits;
  readonly closedHosts: ClosedHosts;
  readonly removedHosts: RemovedHosts;
  readonly requests: Requests;
  readonly logs: Logs;
  readonly #requestPromptness: RequestPromptness;
  readonly #rollouts: Rollouts;
  readonly webhooks: Webhooks;
  readonly outputs: Outputs;
  readonly purges: Purges;
  readonly claimOrder: ClaimOrder;
  /** By the nonces of jobs. */
  readonly #ends = new Map<string, JobEnd>();
  readonly #isolation: Isolation;
  readonly #secrets: Secrets | null;
  #uncaught = 0;
  #wasSettled = false;

  constructor(parts: InvariantsParts) {
    this.#parts = parts;
    const violate = (what: string): void => this.violate(what);
    const expiresAt = (jobId: string): number | null => this.#expiryOf(jobId);
    this.executions = new Executions(parts.world, parts.plan, expiresAt, violate);
    this.outputs = new Outputs({ ...parts, violate, executions: this.executions });
    this.executions.returned = (...output) => this.outputs.returned(...output);
    this.requests = new Requests({ ...parts, violate });
    this.logs = new Logs({ ...parts, violate });
    this.executions.isServing = (container) => this.requests.isServing(container);
    const hasServed = (): boolean => this.requests.hasServed;
    this.#liveness = new Liveness({ ...parts, violate, executions: this.executions, hasServed });
    this.#rollouts = new Rollouts(violate);
    this.purges = new Purges({ ...parts, violate });
    this.claimOrder = new ClaimOrder({ ...parts, violate });
    this.webhooks = new Webhooks({ ...parts, violate, purges: this.purges, outputs: this.outputs });
    const isAskedFor = (nonce: string): boolean => this.webhooks.isAskedFor(nonce);
    new WebhookPauses({ ...parts, violate, isAskedFor });
    this.#calm = new Calm(parts.world, parts.network, parts.hosts, parts.plan);
    const shared = { ...parts, violate, executions: this.executions, calm: this.#calm };
    this.#hostRows = new HostRows(shared);
    this.executions.onBegun = (jobId, container, readMs) => this.#hostRows.begun(jobId, container, readMs);
    this.#fleet = new FleetRows(shared);
    this.executions.onIdleStopped = (container) => this.#fleet.idleStopped(container);
    const workers = () => this.workers;
    this.#isolation = new Isolation({ ...parts, violate, workers });
    this.#secrets = parts.plan.hasSecrets ? new Secrets(shared) : null;
    this.#promptness = new Promptness({ ...parts, violate, executions: this.executions, fleet: this.#fleet });
    this.#leastWorkers = new LeastWorkers({ ...shared, fleet: this.#fleet });
    this.#idleTimes = new IdleTimes({ ...shared, workers });
    this.#growth = new GrowthLimits({ ...parts, violate });
    this.closedHosts = new ClosedHosts({ ...shared, workers });
    this.removedHosts = new RemovedHosts({ ...parts, violate, workers });
    this.#requestPromptness = new RequestPromptness({ ...parts, violate, workers, requests: this.requests });
  }

  /** As Fleet has them. */
  get workers(): readonly WorkerRow[] {
    return this.#fleet.workers;
  }

  violate(what: string): void {
    if (this.#seen.has(what)) return;
    this.#seen.add(what);
    const line = `${(this.#parts.world.elapsedMs / 1_000).toFixed(3)} s: ${what}`;
    if (this.violations.length < 20) this.violations.push(line);
    this.#parts.world.note("invariants", what);
  }

  /** A caller's mistake or a fault of the platform is never an internal error without a name. */
  answered(client: SimulatedClient, call: AnsweredCall, answer: Answer): void {
    // One that breaks off does not come as an answer.
    if (answer.isUnreadable && answer.status < 500 && !this.#parts.plan.faults.has("bodiesTorn"))
      this.violate(`${call.what} got ${answer.status} with what is no JSON: ${call.received.slice(-80)}`);
    if (answer.status === 500 && !this.hasPlatformFaults)
      this.violate(`${call.what} got 500: ${call.received}`);
    const mistake = this.#parts.plan.faults.size === 0 ? unjustified(call, answer) : undefined;
    if (mistake !== undefined) this.violate(mistake);
    this.#isolation.answered(client, call);
    this.#secrets?.answered(call);
  }

  /** What the edge logs as a failure comes of a fault. */
  checkLog(line: string): void {
    if (line.startsWith(FAILURE) && !isInjected(line)) this.violate(`logged: ${line}`);
  }

  /** What an agent says to the edge is understood, unless something on the way has changed it. */
  agentLogged(event: string, fields: object): void {
    const { faults, hasDeletions } = this.#parts.plan;
    if (event !== "edge_refused" || faults.has("bodiesTorn") || faults.has("strayAnswers")) return;
    if (hasDeletions && "status" in fields && fields.status === 404) return;
    this.violate(`the edge refused what an agent sent: ${JSON.stringify(fields)}`);
  }

  checkStep(): void {
    this.#checkChanges();
    for (const host of this.#parts.hosts) for (const what of overfullGpus(host)) this.violate(what);
    this.#calm.checkStep();
    this.#hostRows.checkStep();
    this.#fleet.checkStep();
    this.#liveness.checkStep();
    this.#promptness.checkStep();
    this.#leastWorkers.checkStep();
    this.#idleTimes.checkStep();
    this.closedHosts.checkStep();
    this.removedHosts.checkStep();
    this.#requestPromptness.checkStep();
    this.webhooks.checkStep();
    this.#isolation.checkStep();
    this.#secrets?.checkStep();
    const { uncaught } = this.#parts.world;
    for (; this.#uncaught < uncaught.length; this.#uncaught += 1) {
      const error = uncaught[this.#uncaught];
      this.violate(`uncaught: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  }

  /** All jobs have ended, and all containers that no longer have work are gone or idle. */
  isSettled(): boolean {
    this.#wasSettled ||= this.#unsettled().next().done === true;
    return this.#wasSettled;
  }

  /** When the job has ended last, true time in ms of the history; `Infinity` while it has not. */
  endedAt(jobId: string): number {
    return this.#ends.get(decodeJobId(jobId)?.nonce ?? "")?.at ?? Infinity;
  }

  /** The last ends of all jobs. */
  get ends(): Iterable<JobEnd> {
    return this.#ends.values();
  }

  #noteEnd({ nonce, after, finishedAt, input, output }: JobChange): void {
    const at = this.#parts.world.elapsedMs;
    if (finishedAt === null) this.#ends.delete(nonce);
    else this.#ends.set(nonce, { at, state: after, input, output });
  }

  storedJobs(endpointId: string): readonly StoredJob[] {
    return storagesOf(this.#parts.edge, endpointId).flatMap(storedJobs);
  }

  /** There are no more faults. */
  healed(): void {
    this.#liveness.begin();
    this.#fleet.healed();
    this.#calm.healed();
  }

  /** Every change of a job is one of the table. */
  #checkChanges(): void {
    for (const [endpoint, object] of this.#parts.edge.endpoints.objects) {
      const { storage } = object;
      this.claimOrder.checkStep(object);
      const { isChanged } = storage;
      if (isChanged) {
        this.#parts.onWrite();
        if (this.#parts.plan.isManaged) this.#rollouts.changed(object);
      }
      const changes = storage.takeChanges();
      if (isChanged && this.#parts.plan.hasBatches)
        for (const what of violationsOfCancels(object, changes)) this.violate(what);
      for (const change of changes) {
        const name = nameOf(change);
        this.#count(name);
        this.#parts.world.note(object.machine, `job ${change.seq}: ${name}, of worker ${change.workerId}`);
        for (const fault of violationsOf(change)) this.violate(fault);
        this.#checkRescue(change);
        this.#hostRows.jobChanged(endpoint, change);
        this.#idleTimes.jobChanged(endpoint, change);
        this.#growth.jobChanged(endpoint, change);
        this.outputs.jobChanged(change);
        this.removedHosts.jobChanged(change);
        if (isRetry(change)) this.executions.retried(endpoint, change.seq);
        this.#checkOrigin(change);
        this.webhooks.jobChanged(change);
        this.#noteEnd(change);
      }
      if (isChanged) this.#growth.changed(endpoint, object);
    }
  }

  /** What clients heard of each job can have happened one after the other. */
  checkCalls(): void {
    for (const { endpointId, jobId, submittedAt, calls: own } of this.#parts.clients.flatMap(
      ({ jobs }) => jobs,
    )) {
      const calls = [...own, ...this.purges.callsAbout(endpointId, submittedAt)];
      if (!isLinearizable(calls))
        this.violate(`no order explains the calls about ${jobId}: ${JSON.stringify(calls)}`);
    }
  }

  checkEnd({ isClientWaiting, isTunnelEndLeft }: AtEnd): void {
    if (isClientWaiting) this.violate("a client still waits for an answer");
    if (isTunnelEndLeft) this.violate("a container still has the connection or command of a tunnel");
    this.requests.checkAbandoned();
    this.webhooks.checkEnd();
    this.#secrets?.checkEnd();
    if (!this.#wasSettled) for (const what of this.#unsettled()) this.violate(what);
  }

  get hasPlatformFaults(): boolean {
    const { faults } = this.#parts.plan;
    return PLATFORM_FAULTS.some((fault) => faults.has(fault));
  }

  /** What clients and the edge say to each other may come late. */
  get hasDelays(): boolean {
    const { faults } = this.#parts.plan;
    return this.hasPlatformFaults || DELAYING_FAULTS.some((fault) => faults.has(fault));
  }

  #expiryOf(jobId: string): number | null {
    for (const { jobs } of this.#parts.clients) {
      const job = jobs.find((one) => one.jobId === jobId);
      if (job) return job.expiresAt;
    }
    return null;
  }

  *#openJobs(): Generator<string> {
    for (const { name, storage } of this.#parts.edge.endpoints.objects.values()) {
      const { waiting, running } = openJobs(storage);
      for (const { seq, isLow } of waiting) if (!isLow) yield `job ${seq} of ${name} still waits`;
      for (const { seq, workerId } of running) yield `job ${seq} of ${name} still runs in ${workerId}`;
    }
  }

  /** A job that never reached its worker is not lost with it: it is given out again as if it never was. */
  #count(change: string): void {
    const counts = this.changes.get(change) ?? new Map<Fault | "none", number>();
    this.changes.set(change, counts);
    const faults = this.#parts.recentFaults();
    for (const fault of faults.length === 0 ? ["none" as const] : faults)
      counts.set(fault, (counts.get(fault) ?? 0) + 1);
  }

  #checkRescue({ seq, rescued, trace }: JobChange): void {
    if (rescued <= 0 || LOSE_JOBS.some((fault) => this.#parts.plan.faults.has(fault))) return;
    const told = trace ?? "";
    const isKnown = told.includes('"handler_started"') || told.includes(BEHIND_ITSELF);
    if (!isKnown && !this.executions.hasLostOneOf(told))
      this.violate(`job ${seq} was lost, and no worker had it: ${trace}`);
  }

  /** An attempt ends with what an execution has brought that began after it was given out. */
  #checkOrigin(change: JobChange): void {
    const { executions } = this;
    const { seq, startedAt } = change;
    const mark = markOf(change);
    if (mark !== undefined && executions.isContradicting(mark))
      this.violate(`job ${seq} has the result ${mark}, though its agent had taken another one`);
    const begunAt = mark === undefined ? undefined : executions.beganAt(mark);
    if (begunAt === undefined || startedAt === null) return;
    const skewMs = 2 * (this.#parts.plan.faults.get("clockSkew") ?? 0);
    if (begunAt < startedAt - skewMs)
      this.violate(`job ${seq} ended with the result ${mark} of an execution before its attempt`);
  }

  /** What has not ended or come yet, and what agents still keep of what has ended. */
  *#unsettled(): Generator<string> {
    yield* this.#openJobs();
    yield* this.webhooks.missing();
    if (this.#hasOpenBatches()) yield "a batch has not started all of its requests";
    for (const { hostId, stateDir } of this.#parts.hosts.filter(({ isRemoved }) => !isRemoved))
      for (const table of JOURNAL)
        for (const row of rowsIn(stateDir, table))
          yield `the journal of ${hostId} still has ${JSON.stringify(row).slice(0, 300)}`;
  }

  /** Requests of a started batch become jobs one after the other. */
  #hasOpenBatches(): boolean {
    return [...this.#parts.edge.endpoints.objects.values()]
      .flatMap(({ storage }) => storage.rowsOf("batch"))
      .some((row) => UNFINISHED_BATCH.has(String(row["state"])));
  }
}
