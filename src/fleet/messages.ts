/** What crosses the border of the Fleet object by RPC. */
import type { Inventory, WorkerReport, WorkerState } from "../contract/agent.ts";
import type { WorkerStart } from "../domain/timeline.ts";

export type SyncCall = {
  readonly hostId: string;
  readonly accountId: string;
  readonly agentVersion: string;
  readonly inventory: Inventory;
  readonly workers: readonly (WorkerReport & { readonly start: WorkerStart | null })[];
  readonly appliedRevision: number;
  readonly holdMs: number;
};

export type AssignedWorker = {
  readonly workerId: string;
  readonly endpointId: string;
  readonly version: number;
  readonly gpuIndexes: readonly number[];
};

export type AssignmentsReply = {
  readonly kind: "assignments";
  readonly revision: number;
  readonly workers: readonly AssignedWorker[];
};

export type FleetSyncReply =
  | AssignmentsReply
  /** The host has all it should have: wait on a doorbell, then call again. */
  | { readonly kind: "quiet" };

/** A worker of an endpoint, for people who look at it. */
export type ShownWorker = {
  readonly workerId: string;
  readonly endpointId: string;
  readonly hostId: string;
  readonly dataCenterId: string;
  /** Models of the GPUs that it has. */
  readonly gpuModels: readonly string[];
  readonly state: WorkerState;
  readonly detail: string | null;
  readonly createdAt: number;
  readonly start: WorkerStart | null;
};
