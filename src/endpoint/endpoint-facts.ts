/** What an endpoint's object knows of its endpoint: configuration, workers, and how busy it is. */
import { HOT_HOLD_MS } from "../contract/limits.ts";
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { WebhookSecret } from "../contract/webhook.ts";
import { openSlots } from "../domain/open-slots.ts";
import { NO_REPORT, type FleetReport, type WorkerSnapshot } from "../domain/queue-reason.ts";
import type { JobStore } from "./job-store.ts";

/** The object is hot, and lets calls wait inside it, for this long after the last work. */
const HOT_FOR_MS = 2_000;
/** Workers that are remembered as gone: those whose agents may still offer slots of them. */
const GONE_KEPT = 1_000;

type Hosts = { readonly report: FleetReport; readonly of: ReadonlyMap<string, string> };

type Outdated = {
  readonly report: FleetReport;
  readonly version: number;
  readonly workerIds: ReadonlySet<string>;
};

export class EndpointFacts {
  readonly #store: JobStore;
  #config: EndpointConfig | undefined;
  #report: FleetReport = NO_REPORT;
  #webhookSecrets: readonly WebhookSecret[] = [];
  #lastActiveAt = 0;
  readonly #gone = new Set<string>();
  #outdated: Outdated | undefined;
  #hosts: Hosts | undefined;

  constructor(store: JobStore) {
    this.#store = store;
  }

  load(): void {
    this.#config = this.#store.readFact<EndpointConfig>("config");
    this.#report = this.#store.readFact<FleetReport>("report") ?? NO_REPORT;
    this.#webhookSecrets = this.#store.readFact<WebhookSecret[]>("webhook_secrets") ?? [];
  }

  /** Undefined until the object is told of its endpoint, and when that was deleted. */
  get config(): EndpointConfig | undefined {
    return this.#config;
  }

  get report(): FleetReport {
    return this.#report;
  }

  /** A caller who read the endpoint just before it was deleted must not bring it back. */
  get isRemoved(): boolean {
    return this.#store.readFact<true>("removed") ?? false;
  }

  configure(config: EndpointConfig): void {
    this.#config = config;
    this.#store.writeFact("config", config);
  }

  /** Differs when other workers than before may take jobs. */
  get terms(): string {
    return `${this.#config?.version}.${this.#config?.workersMax}`;
  }

  /** Workers of an older release. */
  get outdated(): ReadonlySet<string> {
    const report = this.#report;
    const version = this.#config?.version ?? 0;
    if (this.#outdated?.report !== report || this.#outdated.version !== version) {
      const workers = report.workers.filter((worker) => (worker.version ?? version) < version);
      this.#outdated = { report, version, workerIds: new Set(workers.map(({ workerId }) => workerId)) };
    }
    return this.#outdated.workerIds;
  }

  /** The host of a worker; undefined for one of which Fleet has not told. */
  hostOf(workerId: string): string | undefined {
    const report = this.#report;
    if (this.#hosts?.report !== report) {
      this.#hosts = { report, of: new Map(report.workers.map((worker) => [worker.workerId, worker.hostId])) };
    }
    return this.#hosts.of.get(workerId);
  }

  /** The slots of workers that may take jobs, or requests. */
  openTo<Slot extends { readonly workerId: string }>(slots: readonly Slot[]): readonly Slot[] {
    if (!this.#config) return [];
    const present = this.#gone.size === 0 ? slots : slots.filter(({ workerId }) => !this.#gone.has(workerId));
    return openSlots(present, this.#report.workers, this.#config);
  }

  /** Takes over the account's secrets, unless newer ones are known already. */
  learnWebhookSecrets(secrets: readonly WebhookSecret[]): void {
    if (newestOf(secrets) < newestOf(this.#webhookSecrets)) return;
    const json = JSON.stringify(secrets);
    if (json === JSON.stringify(this.#webhookSecrets)) return;
    this.#webhookSecrets = secrets;
    this.#store.writeFact("webhook_secrets", secrets);
  }

  /** Without a secret no webhook is accepted. */
  get canSign(): boolean {
    return this.#webhookSecrets.length > 0;
  }

  /** The secrets that sign now, the newest first. */
  signingSecrets(now: number): string[] {
    return this.#webhookSecrets
      .filter(({ validUntil }) => validUntil === null || now < validUntil)
      .map(({ secret }) => secret);
  }

  /** Takes over what Fleet says; returns the workers that are none any more, which get no jobs from now on. */
  learn(report: FleetReport): readonly WorkerSnapshot[] {
    const here = new Set(report.workers.map(({ workerId }) => workerId));
    const gone = this.#report.workers.filter(({ workerId }) => !here.has(workerId));
    for (const { workerId } of gone) this.#gone.add(workerId);
    for (const workerId of this.#gone) {
      if (this.#gone.size <= GONE_KEPT) break;
      this.#gone.delete(workerId);
    }
    this.#report = report;
    this.#store.writeFact("report", report);
    return gone;
  }

  forgetConfig(): void {
    this.#config = undefined;
  }

  noteRemoval(): void {
    this.#store.writeFact("removed", true);
  }

  noteWork(now: number): void {
    this.#lastActiveAt = now;
  }

  /** How long a call may wait inside the object: a quiet one must be free to hibernate. */
  holdMs(wishedMs: number, now: number): number {
    return now - this.#lastActiveAt < HOT_FOR_MS ? Math.min(wishedMs, HOT_HOLD_MS) : 0;
  }
}

function newestOf(secrets: readonly WebhookSecret[]): number {
  return Math.max(0, ...secrets.map(({ createdAt }) => createdAt));
}
