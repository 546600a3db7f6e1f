/** A scripted host: joins, says that its workers are ready, and keeps saying so. */
import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import {
  type Inventory,
  joinReplySchema,
  type SyncReply,
  syncReplySchema,
  type SyncRequest,
} from "../../src/contract/agent/agent.ts";

export type HostSettings = {
  readonly edgeUrl: string;
  readonly joinToken: string;
  readonly endpointId: string;
  readonly workers: number;
};

/** A host whose workers are ready. */
export type Host = {
  readonly workerIds: readonly string[];
  post(path: string, body: unknown): Promise<unknown>;
};

const VERSION = "bench";
const HOLD_MS = 50_000;
const RETRY_MS = 200;

export async function joinFleet({ edgeUrl, joinToken, workers }: HostSettings): Promise<Host> {
  const inventory = inventoryOf(workers);
  const join = { joinToken, name: "bench", agentVersion: VERSION, inventory };
  const { hostToken } = joinReplySchema.parse(await post(edgeUrl, "", "/agent/v1/join", join));
  const host = new ScriptedHost(edgeUrl, hostToken, inventory);
  await host.bringUp(workers);
  void host.keepSyncing();
  return host;
}

class ScriptedHost implements Host {
  readonly #edgeUrl: string;
  readonly #token: string;
  readonly #inventory: Inventory;
  #reply: SyncReply = { revision: 0, assignments: [] };

  constructor(edgeUrl: string, token: string, inventory: Inventory) {
    this.#edgeUrl = edgeUrl;
    this.#token = token;
    this.#inventory = inventory;
  }

  get workerIds(): readonly string[] {
    return this.#reply.assignments.map(({ workerId }) => workerId);
  }

  async bringUp(workers: number): Promise<void> {
    await this.#sync(0);
    while (this.#reply.assignments.length < workers) await this.#sync(HOLD_MS);
    await this.#sync(0); // now it has said that all are ready
  }

  async keepSyncing(): Promise<void> {
    for (;;) {
      try {
        await this.#sync(HOLD_MS);
      } catch {
        await delay(RETRY_MS); // the edge is being started again
      }
    }
  }

  post(path: string, body: unknown): Promise<unknown> {
    return post(this.#edgeUrl, this.#token, path, body);
  }

  async #sync(holdMs: number): Promise<void> {
    const { revision, assignments } = this.#reply;
    const body: SyncRequest = {
      agentVersion: VERSION,
      inventory: this.#inventory,
      workers: assignments.map((worker) => ({
        workerId: worker.workerId,
        endpointId: worker.endpointId,
        revision: worker.revision,
        state: "ready" as const,
      })),
      appliedRevision: revision,
      holdMs,
    };
    this.#reply = syncReplySchema.parse(await this.post("/agent/v1/sync", body));
  }
}

async function post(edgeUrl: string, token: string, path: string, body: unknown): Promise<unknown> {
  const reply = await request(`${edgeUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await reply.body.text();
  if (reply.statusCode !== 200) throw new Error(`${path} answered ${reply.statusCode}: ${text}`);
  return JSON.parse(text);
}

function inventoryOf(gpuCount: number): Inventory {
  const gpu = { name: "Bench", tier: "ADA_24", memoryMb: 24_576, isSimulated: true };
  return {
    gpus: Array.from({ length: gpuCount }, (_, index) => ({ ...gpu, index })),
    cpuCount: 2,
    memoryMb: 1_000,
    diskFreeMb: 100_000,
    runtime: "process",
  };
}
