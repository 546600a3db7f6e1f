/**
 * Which object of its endpoint each worker of this host serves. An endpoint with much load has several, and each of them
 * gives jobs to the workers that offer it their slots. The first one says where each worker belongs.
 *
 * M1  The slots of a worker are offered to one object at a time.
 * M2  A worker moves when no open exchange offers its slots, and the edge has the end of all its jobs of other objects.
 *     So it never has jobs of two, and an object that it has left cannot give it one.
 */
import { shardOfJob } from "../../src/contract/job.ts";
import type { ShardLoans } from "../../src/contract/agent/agent.ts";
import type { ShardRef } from "../journal/shard-ref.ts";

type EndpointShards = {
  /** Of what is known; see ShardLoans. */
  number: number;
  count: number;
  /** Where workers belong; the others belong to the first object. */
  targets: ReadonlyMap<string, number>;
};

export type WorkerShardsParts = {
  /** Whether an open exchange with the object offers slots of the worker. */
  readonly isOffered: (ref: ShardRef, workerId: string) => boolean;
  /** Ids of the jobs of a worker whose end the edge does not have. */
  readonly jobsOf: (workerId: string) => readonly string[];
};

export class WorkerShards {
  readonly #parts: WorkerShardsParts;
  readonly #endpoints = new Map<string, EndpointShards>();
  /** Workers that do not serve the first object. */
  readonly #serving = new Map<string, number>();

  constructor(parts: WorkerShardsParts) {
    this.#parts = parts;
  }

  /** The number of what is known of an endpoint; 0 at first. */
  numberOf(endpointId: string): number {
    return this.#endpoints.get(endpointId)?.number ?? 0;
  }

  /** Takes over what the first object says; returns objects that this process has not known. */
  learn(endpointId: string, { number, count, workers }: ShardLoans): readonly ShardRef[] {
    const known = this.#endpoints.get(endpointId)?.count ?? 1;
    this.#endpoints.set(endpointId, { number, count, targets: new Map(workers) });
    return Array.from({ length: Math.max(0, count - known) }, (_, index) => {
      return { endpointId, shard: known + index };
    });
  }

  /** Whether the slots of a worker may be offered to the object. */
  serves(workerId: string, { endpointId, shard }: ShardRef): boolean {
    if (!this.#endpoints.has(endpointId)) return shard === 0 && this.#hasNoOtherJobs(workerId, 0);
    const isThere = (this.#serving.get(workerId) ?? 0) === shard;
    return isThere && this.#targetOf(workerId, endpointId) === shard && this.#hasNoOtherJobs(workerId, shard);
  }

  /** Whether a worker serves the object, or shall. */
  isServed({ endpointId, shard }: ShardRef, workerIds: readonly string[]): boolean {
    return workerIds.some((workerId) => {
      const serving = this.#serving.get(workerId) ?? 0;
      return serving === shard || this.#targetOf(workerId, endpointId) === shard;
    });
  }

  /** Moves the workers that can move; returns the objects that have more workers than before. */
  move(endpointId: string, workerIds: () => readonly string[]): readonly ShardRef[] {
    if (!this.#endpoints.has(endpointId)) return [];
    const reached: ShardRef[] = [];
    for (const workerId of workerIds()) {
      const from = this.#serving.get(workerId) ?? 0;
      const to = this.#targetOf(workerId, endpointId);
      if (from === to || !this.#canLeave(workerId, { endpointId, shard: from }, to)) continue;
      if (to === 0) this.#serving.delete(workerId);
      else this.#serving.set(workerId, to);
      reached.push({ endpointId, shard: to });
    }
    return reached;
  }

  /** The others are gone. */
  forgetAllBut(isPresent: (workerId: string) => boolean): void {
    for (const workerId of this.#serving.keys()) if (!isPresent(workerId)) this.#serving.delete(workerId);
  }

  #canLeave(workerId: string, from: ShardRef, to: number): boolean {
    return !this.#parts.isOffered(from, workerId) && this.#hasNoOtherJobs(workerId, to);
  }

  #hasNoOtherJobs(workerId: string, shard: number): boolean {
    return this.#parts.jobsOf(workerId).every((jobId) => shardOfJob(jobId) === shard);
  }

  #targetOf(workerId: string, endpointId: string): number {
    return this.#endpoints.get(endpointId)?.targets.get(workerId) ?? 0;
  }
}
