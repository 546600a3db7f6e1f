/** A client that reads metrics of endpoints, as JSON and for Prometheus: counters that only grow, and fit each other. */
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

export type MetricsReaderParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  /** Those with queues. */
  readonly endpointIds: readonly string[];
  /** Something that no correct service answers. */
  readonly violate: (what: string) => void;
};

export type Counts = Readonly<Record<string, number>>;
type RequestMetrics = Counts & {
  readonly points: readonly Counts[];
  readonly executionTime: { readonly count: number };
};

const COUNTS = ["requests", "completed", "failed", "cancelled", "timedOut", "expired", "retried"];
const SAMPLE =
  /^edgerun_endpoint_(requests|jobs_ended)_total\{endpoint="(\w+)",name="\w*"(?:,state="(\w+)")?\} (\d+)$/;

const LOSE_MEMORY: readonly Fault[] = ["objectCrashes", "redeployment"];

export class MetricsReader {
  readonly #parts: MetricsReaderParts;
  /** The highest that was read, by endpoint and name. */
  readonly #read = new Map<string, number>();

  constructor(parts: MetricsReaderParts) {
    this.#parts = parts;
  }

  async read(endpointId: string): Promise<void> {
    const read = this.#parts.world.random.pick([
      () => this.readCounts(endpointId),
      () => this.readExposition(),
      () => this.#readWorkers(endpointId),
    ]);
    await read();
  }

  /** Of jobs within a day, which is longer than a history. */
  async readCounts(endpointId: string): Promise<Counts | undefined> {
    const { client, plan, violate } = this.#parts;
    const answer = await client.call("GET", `/v2/${endpointId}/metrics/requests?window=24h`);
    if (answer?.status !== 200) return undefined;
    const metrics = answer.body as unknown as RequestMetrics;
    for (const name of COUNTS) {
      const count = metrics[name] ?? -1;
      const sum = metrics.points.reduce((total, point) => total + (point[name] ?? 0), 0);
      if (sum !== count) violate(`${endpointId} has ${count} as ${name}, and ${sum} in its points`);
      // A server whose clock is behind may not count what another one has counted for the next hour.
      if (!plan.faults.has("clockSkew")) this.#grow(`${endpointId} ${name}`, count);
    }
    const { completed = 0, failed = 0, cancelled = 0, timedOut = 0, requests = 0, retried = 0 } = metrics;
    const ended = completed + failed + cancelled + timedOut;
    if (ended > requests + retried) violate(`${endpointId} has ${ended} ends of ${requests + retried} jobs`);
    if (metrics.executionTime.count > ended)
      violate(`${endpointId} has ${metrics.executionTime.count} times of ${ended} ends`);
    return metrics;
  }

  /** By endpoint: jobs since it exists, `requests` and by how they ended. */
  async readExposition(): Promise<ReadonlyMap<string, Counts>> {
    const { client } = this.#parts;
    const counts = new Map<string, Record<string, number>>();
    const response = await client.open("/metrics", {}).catch(() => null);
    const text = response?.status === 200 ? await response.text().catch(() => "") : "";
    for (const line of text.split("\n")) {
      const [, , endpointId = "", state = "requests", value] = SAMPLE.exec(line) ?? [];
      if (value === undefined) continue;
      counts.set(endpointId, { ...counts.get(endpointId), [state]: Number(value) });
      if (this.#areKept(endpointId)) this.#grow(`${endpointId} ${state} of Prometheus`, Number(value));
    }
    return counts;
  }

  /** Of load-balanced requests nothing is written at once: their last counts are lost with the memory of the object. */
  #areKept(endpointId: string): boolean {
    const { plan, endpointIds } = this.#parts;
    return endpointIds.includes(endpointId) || !LOSE_MEMORY.some((fault) => plan.faults.has(fault));
  }

  #grow(what: string, count: number): void {
    const before = this.#read.get(what) ?? 0;
    if (count < before) this.#parts.violate(`${what} was ${before}, and is ${count}`);
    this.#read.set(what, count);
  }

  async #readWorkers(endpointId: string): Promise<void> {
    const { client, violate, world } = this.#parts;
    const window = world.random.pick(["5m", "1h"]);
    const answer = await client.call("GET", `/v2/${endpointId}/metrics/workers?window=${window}`);
    if (answer?.status === 200) {
      const { now, points } = answer.body as {
        readonly now: Counts;
        readonly points: readonly { readonly mean: Counts; readonly max: Counts }[];
      };
      const isWrong = points.some(({ mean, max }) =>
        Object.entries(mean).some(([name, value]) => value < 0 || value > (max[name] ?? 0) + 0.001),
      );
      if (isWrong || Object.values(now).some((value) => value < 0))
        violate(`${endpointId} has levels that cannot be: ${JSON.stringify(answer.body).slice(0, 300)}`);
    }
    const present = await client.call("GET", `/v2/${endpointId}/metrics`);
    if (present?.status !== 200) return;
    const { readyWorkers, workers } = present.body as {
      readonly readyWorkers: readonly string[];
      readonly workers: Counts;
    };
    if (new Set(readyWorkers).size !== readyWorkers.length || readyWorkers.length > (workers["ready"] ?? 0))
      violate(`${endpointId} has the ready workers ${readyWorkers.join(", ")} of ${workers["ready"]}`);
  }
}
