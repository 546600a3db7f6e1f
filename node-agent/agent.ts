import type { AgentNotice, Assignment, Gpu, Inventory, SyncReply } from "../src/contract/agent/agent.ts";
import type { AdmissionControl } from "./link/admission.ts";
import { Links } from "./link/links.ts";
import { EdgeClient } from "./edge/edge-client.ts";
import { type EdgeContext, Reachability } from "./edge/edge-context.ts";
import { shardOfJob } from "../src/contract/job.ts";
import { ExchangeLoop, type ExchangeShards } from "./exchange/exchange-loop.ts";
import { beginSession, type Session } from "./exchange/session.ts";
import { Presence } from "./edge/presence.ts";
import { ResultUploads } from "./exchange/result-uploads.ts";
import { WorkerShards } from "./exchange/worker-shards.ts";
import { SyncLoop } from "./exchange/sync-loop.ts";
import { readGpuTelemetry } from "./gpu/nvidia-smi.ts";
import { InventoryWatch } from "./gpu/inventory.ts";
import { AttemptLedger, type LedgerChange } from "./journal/attempt-ledger.ts";
import { LeftCommands } from "./left-commands.ts";
import type { ShardRef } from "./journal/shard-ref.ts";
import { type AttemptRef, Journal } from "./journal/journal.ts";
import type { AgentLog } from "./core/log.ts";
import { WorkerLogs } from "./logs/worker-logs.ts";
import { withSystemEvents } from "./worker/system-events.ts";
import type { Runtime } from "./runtime/interface/runtime.ts";
import type { AgentStatus } from "./host/status-server.ts";
import { AgentMetrics, MetricsServer, type MetricsAddress } from "./telemetry/agent-metrics.ts";
import { TelemetryWatch } from "./telemetry/telemetry-watch.ts";
import { TIMING, type Timing } from "./core/timing.ts";
import { podEnvironment, workerEnvironment } from "./worker/environment.ts";
import { PodStore, PUBLIC_PORTS_DEFAULT, type PortRange } from "./pods/pod-store.ts";
import { Tunnels } from "./tunnel/tunnels.ts";
import { Workers } from "./worker/workers.ts";
import { listenOnFixedPort } from "./worker-server/fixed-port.ts";
import { EdgeRelay } from "./worker-server/edge-relay.ts";
import { WorkerServer } from "./worker-server/worker-server.ts";

export type AgentOptions = {
  readonly edgeUrl: string;
  readonly hostToken: string;
  readonly stateDir: string;
  readonly runtime: Runtime;
  readonly inventory: Inventory;
  readonly readInventory: () => Promise<Inventory>;
  readonly log: AgentLog;
  readonly timing?: Partial<Timing>;
  /** Ports of this host at which TCP ports of pods are published, where it has an address for clients. */
  readonly publicPorts?: PortRange;
  /** Where Prometheus may read; nowhere when absent. */
  readonly metrics?: MetricsAddress | undefined;
  readonly onConnected?: () => void;
  /** The edge does not accept the host token any more. */
  readonly onUnauthorized?: () => void;
};

/** The agent of one host: wires workers, their server, the journal and the edge together. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #timing: Timing;
  /** Begun with the first conversation: a process that ends before the edge has heard of it leaves no trace. */
  #session: Session | undefined;
  readonly #stopping = new AbortController();
  /** Aborts later than `#stopping`: the host stays present while the agent still looks after its workers. */
  readonly #leaving = new AbortController();
  readonly #journal: Journal;
  readonly #ledger: AttemptLedger;
  readonly #inventory: InventoryWatch;
  readonly #logs: WorkerLogs;
  readonly #pods: PodStore;
  readonly #telemetry: TelemetryWatch;
  #metrics: AgentMetrics | undefined;
  #metricsServer: MetricsServer | undefined;
  readonly #server: WorkerServer;
  readonly #workersKnown = Promise.withResolvers<void>();
  readonly #workers: Workers;
  /** By endpoint, and by the object of it. */
  readonly #exchanges = new Map<string, Map<number, ExchangeLoop>>();
  readonly #shards: WorkerShards;
  /** The highest turn of exchanges that are over. */
  #lastTurn = 0;
  readonly #edge: EdgeContext;
  readonly #links: Links;
  readonly #leftCommands: LeftCommands;
  readonly #tunnels: Tunnels;
  readonly #presence: Presence;
  readonly #sync: SyncLoop;
  readonly #uploads: ResultUploads;
  #access: { readonly address: string; readonly port: number } = { address: "127.0.0.1", port: 0 };

  #lastContactAt: number | null = null;
  #notice: AgentNotice | null = null;

  private constructor(options: AgentOptions) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
    this.#journal = new Journal(options.stateDir, (error) =>
      options.log.error("journal_failed", { reason: String(error) }),
    );
    this.#ledger = new AttemptLedger(this.#journal, options.log);
    this.#inventory = new InventoryWatch(options.inventory, options.readInventory);
    this.#telemetry = new TelemetryWatch({
      stateDir: options.stateDir,
      readGpus: async () => (this.#hasRealGpus() ? readGpuTelemetry() : []),
    });
    this.#edge = this.#createEdgeContext();
    this.#logs = new WorkerLogs({ ...this.#edge, runtime: options.runtime, journal: this.#journal });
    this.#pods = new PodStore({
      stateDir: options.stateDir,
      journal: this.#journal,
      log: options.log,
      runtimeKind: options.runtime.kind,
      publicAddress: options.inventory.publicAddress,
      publicPorts: options.publicPorts ?? PUBLIC_PORTS_DEFAULT,
    });
    this.#shards = new WorkerShards({
      isOffered: ({ endpointId, shard }, workerId) =>
        this.#exchanges.get(endpointId)?.get(shard)?.offers(workerId) ?? false,
      jobsOf: (workerId) => this.#ledger.jobsOf(workerId),
    });
    this.#workers = this.#createWorkers();
    this.#server = new WorkerServer({
      relay: new EdgeRelay(options.edgeUrl),
      findSession: (workerId) => this.#workers.find(workerId),
      workersKnown: this.#workersKnown.promise,
      log: options.log,
      timing: this.#timing,
    });
    const { edgeUrl, hostToken } = options;
    this.#links = new Links({ ...this.#edge, edgeUrl, hostToken, admissionControl: this.#workers });
    this.#leftCommands = new LeftCommands(this.#journal.commands, options.log);
    this.#tunnels = this.#createTunnels();
    this.#presence = this.#createPresence();
    this.#sync = this.#createSync();
    this.#uploads = new ResultUploads({ ...this.#edge, ledger: this.#ledger });
    options.runtime.configureCache({
      cachedImages: this.#journal.cachedImages,
      assignedImages: () => this.#workers.imageNames(),
      assignedArtifacts: () => this.#workers.artifacts(),
      assignedModels: () => this.#workers.models(),
      artifacts: this.#edge.client,
    });
    this.#ledger.onChange((ref, change) => this.#ledgerChanged(ref, change));
  }

  /** Takes over what an earlier process left, then talks to the edge. */
  static async start(options: AgentOptions): Promise<Agent> {
    const agent = new Agent(options);
    const address = await options.runtime.agentAddress();
    const fixedPort = await listenOnFixedPort(agent.#server, address, agent.#journal, options.log);
    const { port } = fixedPort;
    agent.#access = { address, port };
    await options.runtime.admit(port);
    await agent.#workers.adopt({ isReachable: fixedPort.isSame });
    fixedPort.remember();
    agent.#workersKnown.resolve();
    void agent.#leftCommands.endAll();
    agent.#keepLinks();
    agent.#links.openHost(agent.#tunnels);
    for (const ref of agent.#ledger.shards()) agent.#exchangeOf(ref);
    agent.#uploads.reportsChanged();
    await agent.#serveMetrics();
    agent.#presence.start();
    agent.#sync.start();
    options.log.info("agent_started", { runtime: options.runtime.kind, port });
    return agent;
  }

  /** Ends this agent. Its workers stay for the next one, or are all removed. */
  async stop({ removeWorkers }: { removeWorkers: boolean }): Promise<void> {
    this.#options.log.info("agent_stopping", { removeWorkers });
    this.#tunnels.stop();
    // While requests end, jobs continue as usual.
    await this.#links.stop(removeWorkers ? this.#timing.stopGraceMs : this.#timing.linkGraceMs);
    this.#stopping.abort();
    this.#inventory.stop();
    this.#telemetry.stop();
    if (removeWorkers) {
      await this.#workers.removeAll();
      await this.#options.runtime.followClusters(undefined);
    } else await this.#workers.detach();
    await this.#server.close();
    await this.#metricsServer?.close();
    await this.#logs.close(this.#timing.logFlushMs);
    await this.#options.runtime.close();
    this.#leaving.abort();
    this.#journal.close();
  }

  // Parts

  async #serveMetrics(): Promise<void> {
    const { metrics: metricsAddress, log } = this.#options;
    if (!metricsAddress) return;
    const metrics = new AgentMetrics({
      reports: () => this.#workers.reports(),
      telemetry: () => this.#telemetry.latest(),
      isEdgeReachable: () => this.#edge.reachability.isReachable,
      journal: () => this.#ledger.depth(),
    });
    this.#metrics = metrics;
    this.#ledger.onReport((outcome) => metrics.jobEnded(outcome));
    this.#metricsServer = await MetricsServer.listen(metrics, metricsAddress);
    log.info("metrics_served", { ...metricsAddress });
  }

  #createWorkers(): Workers {
    const { runtime, log } = this.#options;
    return new Workers({
      runtime,
      journal: this.#journal,
      ledger: this.#ledger,
      log: withSystemEvents(log, this.#logs),
      logs: this.#logs,
      pods: this.#pods,
      timing: this.#timing,
      environmentOf: (assignment, token) => this.#environmentOf(assignment, token),
      gpus: () => this.#inventory.current().gpus,
      onSlotsChange: (endpointId, isWithdrawn) => this.#slotsChanged(endpointId, isWithdrawn),
      onStateChange: (isNewState) => this.#stateChanged(isNewState),
      onContainerEnd: (workerId, reason) => this.#tunnels.workerEnded(workerId, reason),
      onAdmissionChange: (endpointId) => {
        this.#keepLinks();
        this.#links.admissionChanged(endpointId);
      },
    });
  }

  #createTunnels(): Tunnels {
    const rejectionOf = (workerId: string) => this.#workers.tunnelRejection(workerId);
    const { runtime } = this.#options;
    return new Tunnels({ runtime, commands: this.#leftCommands, timing: this.#timing, rejectionOf });
  }

  #createEdgeContext(): EdgeContext {
    const { edgeUrl, hostToken, log, onUnauthorized } = this.#options;
    return {
      client: new EdgeClient(edgeUrl, hostToken),
      reachability: new Reachability(log),
      log,
      timing: this.#timing,
      signal: this.#stopping.signal,
      random: Math.random,
      onUnauthorized: () => {
        if (!this.#stopping.signal.aborted) onUnauthorized?.();
      },
    };
  }

  #createPresence(): Presence {
    const { edgeUrl, hostToken } = this.#options;
    const { timing, random } = this.#edge;
    const { signal } = this.#leaving;
    const onChange = () => this.#sync.presenceChanged();
    const onReturn = () => this.#reconnected();
    return new Presence({ edgeUrl, hostToken, timing, random, signal, onChange, onReturn });
  }

  #createSync(): SyncLoop {
    return new SyncLoop({
      ...this.#edge,
      inventory: () => this.#inventory.current(),
      reports: () => this.#workers.reports(),
      telemetry: () => this.#telemetry.latest(),
      models: () => this.#options.runtime.storedModels(),
      contents: () => this.#options.runtime.storedContents(),
      isBusy: () => this.#ledger.hasAny(),
      presence: () => this.#presence.id,
      apply: (assignments, { clusterNetwork }) => {
        void this.#options.runtime.followClusters(clusterNetwork);
        this.#workers.apply(assignments);
        this.#openExchanges();
      },
      onConnected: () => this.#options.onConnected?.(),
      onReply: (reply) => this.#replied(reply),
    });
  }

  #exchangeOf(ref: ShardRef): ExchangeLoop {
    const { endpointId, shard } = ref;
    const ofEndpoint = this.#exchanges.get(endpointId) ?? new Map<number, ExchangeLoop>();
    this.#exchanges.set(endpointId, ofEndpoint);
    const existing = ofEndpoint.get(shard);
    if (existing) return existing;
    const exchange = new ExchangeLoop({
      ...this.#edge,
      ref,
      session: (this.#session ??= beginSession(this.#journal, this.#options.log)),
      ledger: this.#ledger,
      workers: this.#workers,
      shards: this.#exchangeShards(),
      logs: this.#logs,
      lastTurn: this.#lastTurn,
      onTurnEnd: () => this.#moveWorkers(endpointId),
      onOver: (lastTurn) => this.#exchangeOver(ref, lastTurn),
    });
    ofEndpoint.set(shard, exchange);
    return exchange;
  }

  #exchangeOver({ endpointId, shard }: ShardRef, lastTurn: number): void {
    const ofEndpoint = this.#exchanges.get(endpointId);
    ofEndpoint?.delete(shard);
    if (ofEndpoint?.size === 0) this.#exchanges.delete(endpointId);
    this.#lastTurn = Math.max(this.#lastTurn, lastTurn);
  }

  #exchangeShards(): ExchangeShards {
    return {
      numberOf: (endpointId) => this.#shards.numberOf(endpointId),
      serves: (workerId, ref) => this.#shards.serves(workerId, ref),
      isServed: (ref) => this.#shards.isServed(ref, this.#workerIdsOf(ref.endpointId)),
      learn: (endpointId, loans) => {
        for (const ref of this.#shards.learn(endpointId, loans)) this.#exchangeOf(ref).greet();
        this.#slotsChanged(endpointId, true);
        this.#moveWorkers(endpointId);
      },
    };
  }

  #workerIdsOf(endpointId: string): string[] {
    return this.#workers.ofEndpoint(endpointId).map(({ workerId }) => workerId);
  }

  /** Workers that belong to another object than the one that they serve go there, if they can. */
  #moveWorkers(endpointId: string): void {
    for (const ref of this.#shards.move(endpointId, () => this.#workerIdsOf(endpointId)))
      this.#exchangeOf(ref).slotsChanged();
  }

  /** What runs here, for the status that users see. */
  overview(): Pick<AgentStatus, "lastContactAt" | "notice" | "workerPort" | "workers" | "jobs"> {
    return {
      lastContactAt: this.#lastContactAt,
      notice: this.#notice,
      workerPort: this.#access.port,
      workers: this.#workers.reports(),
      jobs: this.#ledger.size,
    };
  }

  /** Knows which workers of this host take requests. */
  get admissionControl(): AdmissionControl {
    return this.#workers;
  }

  // What happens

  #reconnected(): void {
    this.#edge.client.giveUpOpenCalls();
    const exchanges = [...this.#exchanges.values()].flatMap((ofEndpoint) => [...ofEndpoint.values()]);
    for (const part of [this.#sync, this.#uploads, ...exchanges]) part.reconnected();
  }

  #replied(reply: SyncReply): void {
    const notice = reply.notice ?? null;
    this.#lastContactAt = Date.now();
    if (notice !== null && notice.message !== this.#notice?.message) {
      this.#options.log.warn("agent_too_old", { kind: notice.kind, detail: notice.message });
    }
    this.#notice = notice;
    this.#pods.setKept(reply.podVolumes);
    void this.#pods.sweep(new Set([...this.#workers.podIds(), ...assignedPods(reply)]));
  }

  #stateChanged(isNewState: boolean): void {
    if (this.#stopping.signal.aborted) return;
    this.#sync.changed(isNewState);
    this.#metrics?.workersChanged();
    this.#keepLinks();
    this.#openExchanges();
  }

  /**
   * Also of endpoints whose workers take no jobs yet: only by its exchange an endpoint hears that a job has not arrived,
   * and the agent of those who follow the logs.
   */
  #openExchanges(): void {
    for (const endpointId of this.#workers.endpointIds()) this.#exchangeOf({ endpointId, shard: 0 });
  }

  #keepLinks(): void {
    this.#links.keep(this.#loadBalancedEndpointIds(), this.#workers.httpPodIds());
  }

  /** Endpoints that have load-balanced workers here, whether they take requests yet or not. */
  #loadBalancedEndpointIds(): string[] {
    const isLoadBalanced = (endpointId: string) =>
      this.#workers.ofEndpoint(endpointId).some(({ assignment }) => assignment.type === "LB");
    return [...this.#workers.endpointIds()].filter(isLoadBalanced);
  }

  #slotsChanged(endpointId: string, isWithdrawn: boolean): void {
    if (this.#stopping.signal.aborted) return;
    this.#exchangeOf({ endpointId, shard: 0 });
    if (isWithdrawn) this.#shards.forgetAllBut((workerId) => this.#workers.find(workerId) !== undefined);
    for (const exchange of this.#exchanges.get(endpointId)?.values() ?? []) {
      if (isWithdrawn) exchange.slotsWithdrawn();
      else exchange.slotsChanged();
    }
  }

  #ledgerChanged({ endpointId, jobId, workerId }: AttemptRef, change: LedgerChange): void {
    if (this.#stopping.signal.aborted) return;
    const ref = { endpointId, shard: shardOfJob(jobId) };
    this.#sync.attemptsChanged();
    if (change === "held" && !this.#workers.find(workerId)) this.#sync.changed(true);
    if (change === "held") this.#moveWorkers(endpointId);
    if (change === "report") {
      this.#uploads.reportsChanged();
      this.#exchangeOf(ref).reportsChanged();
    }
    if (change === "chunk") this.#exchangeOf(ref).chunksChanged();
    if (change === "progress") this.#exchangeOf(ref).progressChanged();
  }

  #environmentOf(assignment: Assignment, token: string): Record<string, string> {
    const access = { ...this.#access, token };
    const gpus = this.#gpusOf(assignment);
    if (assignment.type !== "POD") return workerEnvironment(assignment, access, gpus);
    const ports = this.#pods.portsOf(assignment.workerId);
    return podEnvironment(assignment, access, { inventory: this.#inventory.current(), gpus, ports });
  }

  #hasRealGpus(): boolean {
    return this.#inventory.current().gpus.some((gpu) => !gpu.isSimulated);
  }

  #gpusOf({ gpuIndexes }: Assignment): Gpu[] {
    return this.#inventory.current().gpus.filter((gpu) => gpuIndexes.includes(gpu.index));
  }
}

function assignedPods({ assignments }: SyncReply): readonly string[] {
  return assignments.filter(({ type }) => type === "POD").map(({ workerId }) => workerId);
}
