/** What Prometheus reads of an agent: its process, its workers and jobs, its edge, its GPUs. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { WORKER_STATES, type WorkerReport } from "../../src/contract/agent/agent.ts";
import type { HostTelemetry } from "../../src/contract/agent/telemetry.ts";
import { displayState } from "../host/status-server.ts";
import { createServer, type Server } from "node:http";
import { once } from "node:events";

export type AgentSources = {
  readonly reports: () => readonly WorkerReport[];
  readonly telemetry: () => HostTelemetry | undefined;
  readonly isEdgeReachable: () => boolean;
  /** Attempts that run, and reports that the edge does not have yet. */
  readonly journal: () => { readonly attempts: number; readonly reports: number };
};

export class AgentMetrics {
  readonly #registry = new Registry();
  readonly #sources: AgentSources;
  readonly #jobs: Counter<"outcome">;
  readonly #pulls: Histogram;
  /** Workers whose pull was counted. */
  readonly #pulled = new Set<string>();

  constructor(sources: AgentSources) {
    this.#sources = sources;
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#jobs = new Counter({
      name: "edgerun_agent_jobs_total",
      help: "Attempts that ended here, by how they did.",
      labelNames: ["outcome"],
      registers,
    });
    this.#pulls = new Histogram({
      name: "edgerun_agent_image_pull_seconds",
      help: "Time that pulls of images took.",
      buckets: [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_200, 3_600],
      registers,
    });
    this.#addStates();
    this.#addGpus();
  }

  jobEnded(outcome: string): void {
    this.#jobs.inc({ outcome });
  }

  /** A worker has a new state; the end of its pull is counted once. */
  workersChanged(): void {
    const reports = this.#sources.reports();
    for (const { workerId, ago } of reports) {
      if (ago?.pullStarted === undefined || ago.pullEnded === undefined || this.#pulled.has(workerId))
        continue;
      this.#pulled.add(workerId);
      this.#pulls.observe((ago.pullStarted - ago.pullEnded) / 1_000);
    }
    const present = new Set(reports.map(({ workerId }) => workerId));
    for (const workerId of this.#pulled) if (!present.has(workerId)) this.#pulled.delete(workerId);
  }

  /** The text of an answer, and its type. */
  async expose(): Promise<{ readonly text: string; readonly type: string }> {
    return { text: await this.#registry.metrics(), type: this.#registry.contentType };
  }

  #addStates(): void {
    const { reports, isEdgeReachable, journal } = this.#sources;
    const registers = [this.#registry];
    new Gauge({
      name: "edgerun_agent_workers",
      help: "Workers by their state.",
      labelNames: ["state"],
      registers,
      collect() {
        const states = Map.groupBy(reports(), displayState);
        for (const state of WORKER_STATES) this.set({ state }, states.get(state)?.length ?? 0);
      },
    });
    new Gauge({
      name: "edgerun_agent_edge_reachable",
      help: "Whether all conversations with the edge go well.",
      registers,
      collect() {
        this.set(Number(isEdgeReachable()));
      },
    });
    new Gauge({
      name: "edgerun_agent_journal_entries",
      help: "Attempts that run, and reports that the edge does not have yet.",
      labelNames: ["kind"],
      registers,
      collect() {
        for (const [kind, count] of Object.entries(journal())) this.set({ kind }, count);
      },
    });
  }

  #addGpus(): void {
    const { telemetry } = this.#sources;
    const columns = [
      ["utilization_ratio", "Share of the time in which the GPU worked.", "utilizationPercent", 0.01],
      ["memory_used_bytes", "Memory of the GPU in use.", "memoryUsedMb", 2 ** 20],
      ["temperature_celsius", "Temperature of the GPU.", "temperatureC", 1],
      ["power_watts", "What the GPU draws.", "powerW", 1],
    ] as const;
    for (const [name, help, member, factor] of columns) {
      new Gauge({
        name: `edgerun_agent_gpu_${name}`,
        help,
        labelNames: ["gpu"],
        registers: [this.#registry],
        collect() {
          this.reset();
          for (const gpu of telemetry()?.gpus ?? []) {
            const value = gpu[member];
            if (value !== null) this.set({ gpu: `${gpu.index}` }, value * factor);
          }
        },
      });
    }
  }
}

export type MetricsAddress = { readonly address: string; readonly port: number };

export class MetricsServer {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(metrics: AgentMetrics, { address, port }: MetricsAddress): Promise<MetricsServer> {
    const server = createServer((request, response) => {
      if (request.method !== "GET" || request.url?.split("?")[0] !== "/metrics") {
        return void response.writeHead(404).end();
      }
      metrics.expose().then(
        ({ text, type }) => response.writeHead(200, { "Content-Type": type }).end(text),
        () => response.writeHead(500).end(),
      );
    });
    server.listen(port, address);
    await once(server, "listening");
    return new MetricsServer(server);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
