/** Purges of queues: what each of them has to cancel, and what only they may have cancelled. */
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { ObjectStorage } from "../runtime/storage.ts";
import type { World } from "../world/world.ts";
import type { Answer, SimulatedClient } from "./client.ts";
import { neverClaimedJobs, requeuedCount, storagesOf } from "./endpoint-rows.ts";
import type { JobCall } from "./linearizability.ts";
import type { HistoryPlan } from "./plan.ts";

export type PurgesParts = {
  readonly world: World;
  readonly edge: SimulatedEdge;
  readonly plan: HistoryPlan;
  readonly violate: (what: string) => void;
};

type Purge = {
  readonly endpointId: string;
  readonly sentAt: number;
  /** It has no effect later; `Infinity` for one that may still arrive. */
  overAt: number;
};

/** Queued jobs before a purge. */
type Before = { readonly waiting: ReadonlySet<string>; readonly requeued: number; readonly retried: number };

const NOTHING: Before = { waiting: new Set(), requeued: 0, retried: 0 };

export class Purges {
  readonly #parts: PurgesParts;
  readonly #purges = new Set<Purge>();

  constructor(parts: PurgesParts) {
    this.#parts = parts;
  }

  async call(client: SimulatedClient, endpointId: string): Promise<void> {
    const { world, edge, plan } = this.#parts;
    const storages = storagesOf(edge, endpointId);
    const before = storages.map(queuedIn);
    const purge = { endpointId, sentAt: world.elapsedMs, overAt: Infinity };
    this.#purges.add(purge);
    const answer = await client.call("POST", `/v2/${endpointId}/purge-queue`);
    if (!answer || answer.status >= 500) return;
    if (!plan.faults.has("requestsRepeated")) {
      purge.overAt = world.elapsedMs;
      if (answer.status !== 200) this.#purges.delete(purge);
    }
    if (answer.status === 200) this.#check(purge, answer, storages, before);
  }

  /** Whether one may have cancelled a job that was submitted then, ms of the history. */
  mayHaveCancelled(endpointId: string, submittedAt: number): boolean {
    return this.#since(endpointId, submittedAt).length > 0;
  }

  /** As calls about a job that was submitted then. */
  callsAbout(endpointId: string, submittedAt: number): readonly JobCall[] {
    return this.#since(endpointId, submittedAt).map(({ sentAt, overAt }) => {
      return { kind: "purge", sentAt, answer: overAt === Infinity ? null : { at: overAt, status: null } };
    });
  }

  #since(endpointId: string, submittedAt: number): Purge[] {
    return [...this.#purges].filter(
      (purge) => purge.endpointId === endpointId && purge.overAt >= submittedAt,
    );
  }

  /** Of the jobs that waited before, none waits as if nothing had been; and as many are gone as the answer says. */
  #check(
    purge: Purge,
    { body }: Answer,
    storages: readonly ObjectStorage[],
    before: readonly Before[],
  ): void {
    const { violate } = this.#parts;
    const { endpointId } = purge;
    let [gone, unsure] = [0, 0];
    for (const [index, storage] of storages.entries()) {
      const { waiting, requeued, retried } = before[index] ?? NOTHING;
      const now = neverClaimedJobs(storage);
      for (const { nonce, isPurged } of now) {
        if (!waiting.has(nonce)) unsure += isPurged ? 1 : 0;
        else if (isPurged) gone += 1;
        else violate(`a job of ${endpointId} waits, though its queue was purged`);
      }
      unsure += requeued + storage.jobsInto("retried") - retried; // those that came back meanwhile among them
      unsure += waiting.size - now.filter(({ nonce }) => waiting.has(nonce)).length;
    }
    const removed = Number(body["removed"]);
    const isAlone = this.#since(endpointId, purge.sentAt).length === 1;
    if (isAlone && (removed < gone || removed > gone + unsure))
      violate(`a purge of ${endpointId} says that it removed ${removed} jobs of ${gone} to ${gone + unsure}`);
  }
}

function queuedIn(storage: ObjectStorage): Before {
  const waiting = neverClaimedJobs(storage).filter(({ isPurged }) => !isPurged);
  return {
    waiting: new Set(waiting.map(({ nonce }) => nonce)),
    requeued: requeuedCount(storage),
    retried: storage.jobsInto("retried"),
  };
}
