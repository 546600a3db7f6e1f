/** The facts of an endpoint in the memory of its object: configuration, workers, and how busy it is. */
import { IN_OBJECT_WAIT_MS } from "../../durable/waiters.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import type { WebhookSecret } from "../../contract/webhook.ts";
import { openSlots, acceptsJobs, type OfferedSlot } from "../../domain/scaling/open-slots.ts";
import {
  isStopped,
  NO_REPORT,
  type FleetReport,
  type WorkerSnapshot,
} from "../../domain/jobs/queue-reason.ts";
import type { SettledCanary } from "../../domain/rollouts/canary-rule.ts";
import type { Fact, FactStore } from "./fact-store.ts";

/** For this long after the last work the object is hot, and calls may wait inside it. */
const HOT_FOR_MS = 2_000;
/** How often a verdict is given to be carried out until the configuration has it. */
const VERDICT_REPEAT_MS = 10_000;
/** Workers that are remembered as absent, because their agents may still offer slots of them. */
const ABSENT_WORKERS_MAX = 1_000;

type Hosts = {
  readonly report: FleetReport;
  /** By worker. */
  readonly all: ReadonlyMap<string, string>;
  readonly ofTakers: ReadonlyMap<string, string>;
};

type Outdated = {
  readonly report: FleetReport;
  readonly version: number;
  readonly workerIds: ReadonlySet<string>;
};

/** A newer report, and how it differs from the one before. */
export type FleetNews = {
  readonly report: FleetReport;
  /** Workers that no longer belong to the endpoint. */
  readonly gone: readonly WorkerSnapshot[];
  /** Workers that no longer take work, those that are gone included. */
  readonly closed: readonly string[];
  /** Hosts of workers that take work now and did not before. */
  readonly openedOn: ReadonlySet<string>;
  /** A budget is reached now and was not before, or the reverse. */
  readonly hasTurned: boolean;
};

/** The configuration as it is stored, with which object of the endpoint this is. */
type StoredConfig = EndpointConfig & {
  /** Absent for the first one. */
  readonly shard?: number;
  /** Objects that take new jobs; only in the others. */
  readonly activeShards?: number;
  /** Only in the first one: there have been others. */
  readonly hasShards?: true;
  /** What has become of its version on trial; it holds until the configuration says so. */
  readonly canaryVerdict?: SettledCanary;
};

export class EndpointFacts {
  readonly #stored: {
    readonly config: Fact<StoredConfig>;
    readonly report: Fact<FleetReport>;
    readonly webhookSecrets: Fact<readonly WebhookSecret[]>;
    readonly removed: Fact<true>;
  };
  #config: StoredConfig | undefined;
  /** With the verdict about its version on trial applied. */
  #effective: EndpointConfig | undefined;
  #shared: EndpointConfig | undefined;
  #report: FleetReport = NO_REPORT;
  #webhookSecrets: readonly WebhookSecret[] = [];
  #lastActiveAt = 0;
  #verdictTakenAt = 0;
  /** Workers that Fleet does not have here. */
  readonly #absent = new Set<string>();
  /** Revision of the last report that brought new workers which take work; after a loss of memory, of the current one. */
  #openedIn = 0;
  #outdated: Outdated | undefined;
  #hostsOf: Hosts | undefined;

  constructor(store: FactStore) {
    this.#stored = {
      config: store.fact("config"),
      report: store.fact("report"),
      webhookSecrets: store.fact("webhook_secrets"),
      removed: store.fact("removed"),
    };
  }

  load(): void {
    this.#config = this.#stored.config.read();
    this.#effective = this.#config && effectiveOf(this.#config);
    this.#report = this.#stored.report.read() ?? NO_REPORT;
    this.#openedIn = this.#report.revision;
    this.#webhookSecrets = this.#stored.webhookSecrets.read() ?? [];
  }

  /**
   * Undefined until the object is configured, and again once its endpoint was deleted. While a budget is reached no
   * worker is allowed.
   */
  get config(): EndpointConfig | undefined {
    if (!this.#effective || !isStopped(this.#report)) return this.#effective;
    return { ...this.#effective, workersMin: 0, workersMax: 0 };
  }

  /** Absent unless the present version is on trial and has been judged. */
  get canaryVerdict(): SettledCanary | undefined {
    return this.#config?.canaryVerdict;
  }

  /** The verdict when it is time to carry it out, once more if that has failed. */
  takeVerdict(now: number): SettledCanary | undefined {
    if (!this.canaryVerdict || now < this.#verdictTakenAt + VERDICT_REPEAT_MS) return undefined;
    this.#verdictTakenAt = now;
    return this.canaryVerdict;
  }

  /** The version on trial goes on or back, for this object at once. */
  settleCanary(canaryVerdict: SettledCanary): void {
    this.#verdictTakenAt = 0;
    if (this.#config) this.#save({ ...this.#config, canaryVerdict });
  }

  get report(): FleetReport {
    return this.#report;
  }

  /** A caller that read the endpoint just before it was deleted must not bring it back. */
  get isRemoved(): boolean {
    return this.#stored.removed.read() ?? false;
  }

  configure(config: EndpointConfig): void {
    const verdict = this.canaryVerdict;
    const isOpen = config.canary !== undefined && verdict?.version === config.version;
    this.#save({
      ...config,
      ...(this.hasShards && { hasShards: true }),
      ...(isOpen && { canaryVerdict: verdict }),
    });
  }

  /** This is not the first object of its endpoint; `activeShards` take new jobs. */
  configureShard(config: EndpointConfig, shard: number, activeShards: number): void {
    const stored = { ...config, shard, activeShards };
    if (JSON.stringify(stored) !== JSON.stringify(this.#config)) this.#save(stored);
  }

  /** The endpoint gets further objects. */
  recordShards(): void {
    if (this.#config && !this.#config.hasShards) this.#save({ ...this.#config, hasShards: true });
  }

  #save(config: StoredConfig): void {
    this.#config = config;
    this.#effective = effectiveOf(config);
    this.#shared = undefined;
    this.#stored.config.write(config);
  }

  /** Which object of the endpoint this is; the first one leads the others. */
  get shard(): number {
    return this.#config?.shard ?? 0;
  }

  /** Objects that take new jobs, as the first one has said. */
  get activeShards(): number {
    return this.#config?.activeShards ?? 1;
  }

  /** The configuration that all objects of the endpoint have; the same value until it changes. */
  get shared(): EndpointConfig | undefined {
    if (!this.#config) return undefined;
    const { hasShards: _, ...shared } = this.#config;
    return (this.#shared ??= effectiveOf(shared));
  }

  /** This is the first object, and there have been others. */
  get hasShards(): boolean {
    return this.#config?.hasShards ?? false;
  }

  /** Changes whenever other workers than before may take jobs. */
  get terms(): string {
    return `${this.config?.version}.${this.config?.workersMax}.${this.#openedIn}`;
  }

  /** Workers of an older version. */
  get outdated(): ReadonlySet<string> {
    const report = this.#report;
    const version = this.#config?.version ?? 0;
    if (this.#outdated?.report !== report || this.#outdated.version !== version) {
      const workers = report.workers.filter((worker) => (worker.version ?? version) < version);
      this.#outdated = { report, version, workerIds: new Set(workers.map(({ workerId }) => workerId)) };
    }
    return this.#outdated.workerIds;
  }

  /** Whether a host has a worker of the endpoint, as far as Fleet has reported. */
  hasWorkerOn(hostId: string): boolean {
    return this.#report.workers.some((worker) => worker.hostId === hostId);
  }

  /** Whether Fleet has reported the worker, or that it has no worker with this id here. */
  knows(workerId: string): boolean {
    return this.#hosts().all.has(workerId) || this.#absent.has(workerId);
  }

  /** Fleet was queried for these workers and does not have them here. */
  recordAbsent(workerIds: readonly string[]): void {
    for (const workerId of workerIds) this.#absent.add(workerId);
    for (const workerId of this.#absent) {
      if (this.#absent.size <= ABSENT_WORKERS_MAX) break;
      this.#absent.delete(workerId);
    }
  }

  /** The slots of workers that may take jobs, or requests; `hostOf` names the host that offers a slot. */
  openTo<Slot extends OfferedSlot>(slots: readonly Slot[], hostOf: (slot: Slot) => string): readonly Slot[] {
    const workers = { hosts: this.#hosts().ofTakers, outdated: this.outdated };
    return openSlots(slots, hostOf, workers, this.config?.workersMax ?? 0);
  }

  #hosts(): Hosts {
    const report = this.#report;
    if (this.#hostsOf?.report !== report) {
      const { workers } = report;
      this.#hostsOf = { report, all: hostsBy(workers), ofTakers: hostsBy(workers.filter(acceptsJobs)) };
    }
    return this.#hostsOf;
  }

  /** Takes over the account's secrets, unless newer ones are known already. */
  learnWebhookSecrets(secrets: readonly WebhookSecret[]): void {
    if (newestOf(secrets) < newestOf(this.#webhookSecrets)) return;
    const json = JSON.stringify(secrets);
    if (json === JSON.stringify(this.#webhookSecrets)) return;
    this.#webhookSecrets = secrets;
    this.#stored.webhookSecrets.write(secrets);
  }

  /** Without a secret no webhook is accepted. */
  get canSign(): boolean {
    return this.#webhookSecrets.length > 0;
  }

  /** As the account has them. */
  get webhookSecrets(): readonly WebhookSecret[] {
    return this.#webhookSecrets;
  }

  /** The secrets that sign now, the newest first. */
  signingSecrets(now: number): string[] {
    return this.#webhookSecrets
      .filter(({ validUntil }) => validUntil === null || now < validUntil)
      .map(({ secret }) => secret);
  }

  /** Takes over a report of Fleet; returns how it differs from the one before. */
  learn(report: FleetReport): FleetNews {
    const { ofTakers: before } = this.#hosts();
    const known = this.#report.workers;
    const hasTurned = isStopped(this.#report) !== isStopped(report);
    this.#report = report;
    this.#stored.report.write(report);
    const { all, ofTakers: after } = this.#hosts();
    const gone = known.filter(({ workerId }) => !all.has(workerId));
    this.recordAbsent(gone.map(({ workerId }) => workerId));
    for (const workerId of all.keys()) this.#absent.delete(workerId);
    const openedOn = new Set(
      [...after].filter(([workerId]) => !before.has(workerId)).map(([, host]) => host),
    );
    if (openedOn.size > 0) this.#openedIn = report.revision;
    const closed = [...before.keys()].filter((workerId) => !after.has(workerId));
    return { report, gone, closed, openedOn, hasTurned };
  }

  forgetConfig(): void {
    this.#config = undefined;
    this.#effective = undefined;
    this.#shared = undefined;
  }

  recordRemoval(): void {
    this.#stored.removed.write(true);
  }

  recordWork(now: number): void {
    this.#lastActiveAt = now;
  }

  /** How long a call may wait inside the object: a quiet one must be free to hibernate. */
  holdMs(requestedMs: number, now: number): number {
    return now - this.#lastActiveAt < HOT_FOR_MS ? Math.min(requestedMs, IN_OBJECT_WAIT_MS) : 0;
  }
}

function effectiveOf({ canaryVerdict, ...config }: StoredConfig): EndpointConfig {
  if (!canaryVerdict || !config.canary) return config;
  if (canaryVerdict.kind === "back") return { ...config, canary: { ...config.canary, percent: 0 } };
  const { canary: _, ...all } = config;
  return all;
}

function hostsBy(workers: readonly WorkerSnapshot[]): ReadonlyMap<string, string> {
  return new Map(workers.map(({ workerId, hostId }) => [workerId, hostId]));
}

function newestOf(secrets: readonly WebhookSecret[]): number {
  return Math.max(0, ...secrets.map(({ createdAt }) => createdAt));
}

/**
 * Asks Fleet for workers that agents name and that it has not reported yet: an agent may learn of its new worker before
 * the endpoint does. Fleet is queried once per worker, and never for a known one.
 */
export class WorkerLookup {
  readonly #facts: EndpointFacts;
  readonly #update: () => Promise<void>;

  /** `update` fetches the report of Fleet and takes it over. */
  constructor(facts: EndpointFacts, update: () => Promise<void>) {
    this.#facts = facts;
    this.#update = update;
  }

  /** Resolves at once when all of these workers are known. If Fleet does not answer, its report comes a little later. */
  async learnOf(workers: readonly { readonly workerId: string }[]): Promise<void> {
    const facts = this.#facts;
    if (workers.every(({ workerId }) => facts.knows(workerId))) return;
    const unknown = workers.map(({ workerId }) => workerId).filter((workerId) => !facts.knows(workerId));
    const isUpdated = await this.#update().then(
      () => true,
      () => false,
    );
    if (isUpdated) facts.recordAbsent(unknown.filter((workerId) => !facts.knows(workerId)));
  }

  /** Whether a host has a worker of the endpoint; throws when Fleet does not answer. */
  async hasWorkerOn(hostId: string): Promise<boolean> {
    if (!this.#facts.hasWorkerOn(hostId)) await this.#update();
    return this.#facts.hasWorkerOn(hostId);
  }
}
