/** A client that makes endpoints, gives them jobs, and deletes them with all that they have. */
import type { SimulatedHost } from "../host/host.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { World } from "../world/world.ts";
import { makeEndpoint } from "./account.ts";
import type { SimulatedClient } from "./client.ts";
import { storagesOf } from "./endpoint-rows.ts";
import type { WorkerRow } from "./fleet-rows.ts";
import type { HistoryPlan } from "./plan.ts";

export type DeletionUserParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly edge: SimulatedEdge;
  readonly client: SimulatedClient;
  readonly hosts: readonly SimulatedHost[];
  /** As Fleet has them. */
  readonly workers: () => readonly WorkerRow[];
  readonly violate: (what: string) => void;
};

const ENDPOINTS = 2;
const JOBS_MAX = 4;
/** Typical life of such an endpoint: some are deleted before they have a worker. */
const LIFE_MS: readonly number[] = [100, 2_000, 10_000];
const CALLS_MAX = 40;
const AGAIN_MS = 500;

export class DeletionUser {
  readonly #parts: DeletionUserParts;
  readonly #deletedIds: string[] = [];
  #isOver = false;

  constructor(parts: DeletionUserParts) {
    this.#parts = parts;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  start(): void {
    const { client, world } = this.#parts;
    client.run(world, async () => {
      for (let left = ENDPOINTS; left > 0; left -= 1) await this.#useOne();
      this.#isOver = true;
    });
  }

  /** When all is over, nothing is left of them: no worker, no job, and nothing in the bucket. */
  check(): void {
    const { edge, hosts, workers, violate } = this.#parts;
    const { objects } = edge.payloads;
    for (const endpointId of this.#deletedIds) {
      const what = `the deleted endpoint ${endpointId}`;
      for (const { worker_id: workerId } of workers().filter((row) => row.endpoint_id === endpointId))
        violate(`${what} has the worker ${workerId}`);
      for (const { spec } of hosts.flatMap(({ containers }) => [...containers.all.values()]))
        if (spec.endpointId === endpointId) violate(`${what} has the container ${spec.workerId}`);
      const jobs = storagesOf(edge, endpointId).flatMap((storage) => storage.rowsOf("job"));
      if (jobs.length > 0) violate(`${what} has ${jobs.length} jobs`);
      for (const key of objects.keys()) if (key.includes(endpointId)) violate(`${what} has stored ${key}`);
    }
  }

  async #useOne(): Promise<void> {
    const { client, plan, world } = this.#parts;
    const { random } = world;
    const endpointId = await makeEndpoint(client, { ...plan, workersMin: 0 }, { gpuCount: 1 });
    const jobIds: string[] = [];
    for (let left = random.whole(0, JOBS_MAX); left > 0; left -= 1) {
      const answer = await client.call("POST", `/v2/${endpointId}/run`, { input: { number: left } });
      if (answer?.status === 200) jobIds.push(String(answer.body["id"]));
    }
    await pause(random.delay(random.pick(LIFE_MS)));
    if (!(await this.#delete(endpointId))) return;
    this.#deletedIds.push(endpointId);
    await this.#expectGone("GET", `/v2/${endpointId}/health`);
    await this.#expectGone("POST", `/v2/${endpointId}/run`, { input: {} });
    for (const jobId of jobIds) await this.#expectGone("GET", `/v2/${endpointId}/status/${jobId}`);
  }

  /** Deleting again is safe, so it is done until it is answered. Returns whether it was. */
  async #delete(endpointId: string): Promise<boolean> {
    for (let calls = CALLS_MAX; calls > 0; calls -= 1) {
      const { status } = await this.#parts.client
        .open(`/v1/endpoints/${endpointId}`, { method: "DELETE" })
        .catch(() => ({ status: 500 }));
      if (status < 300 || status === 404) return true;
      await pause(AGAIN_MS);
    }
    return false;
  }

  async #expectGone(method: string, path: string, body?: unknown): Promise<void> {
    const answer = await this.#parts.client.call(method, path, body);
    if (answer && answer.status < 500 && answer.status !== 404)
      this.#parts.violate(`${method} ${path} of a deleted endpoint is answered with ${answer.status}`);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
