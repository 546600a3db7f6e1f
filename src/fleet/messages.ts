/** What crosses the border of the Fleet object by RPC. */
import type { Inventory, WorkerReport, WorkerState } from "../contract/agent/agent.ts";
import type { HostTelemetry } from "../contract/agent/telemetry.ts";
import type { GpuStock } from "../domain/placement/stock.ts";
import type { WorkerLimits } from "../domain/placement/host-capacity.ts";
import type { WorkerStart } from "../domain/jobs/timeline.ts";
import type { SeenTelemetry } from "./hosts/host-presence.ts";

export type SyncCall = {
  readonly hostId: string;
  readonly accountId: string;
  readonly name: string;
  readonly agentVersion: string;
  readonly inventory: Inventory;
  readonly workers: readonly (WorkerReport & { readonly start: WorkerStart | null })[];
  readonly appliedRevision: number;
  readonly holdMs: number;
  /** The presence that vouches for the host beside its syncs. */
  readonly presence?: string | undefined;
  readonly telemetry?: HostTelemetry | undefined;
};

export type AssignedWorker = {
  readonly workerId: string;
  readonly endpointId: string;
  readonly version: number;
  readonly gpuIndexes: readonly number[];
  /** Absent for one that runs. */
  readonly mode?: "standby";
  /** Absent for a worker that may use whatever its host has. */
  readonly limits?: WorkerLimits | undefined;
};

export type AssignmentsReply = {
  readonly kind: "assignments";
  readonly revision: number;
  readonly workers: readonly AssignedWorker[];
};

export type FleetSyncReply =
  | AssignmentsReply
  /** The host has all it should have: wait on a doorbell, then call again. */
  | { readonly kind: "quiet" }
  /** The host is none of the fleet any more. */
  | { readonly kind: "removed" };

export type WorkerOfEndpoint = { readonly workerId: string; readonly endpointId: string };

/** What the owner of a host wants of it; what is absent stays. */
export type HostChange = {
  readonly hostId: string;
  readonly accountId: string;
  readonly name: string;
  readonly cordoned?: boolean | undefined;
  readonly drained?: boolean | undefined;
};

/** A host as Fleet knows it, for its owner. */
export type HostView = {
  readonly hostId: string;
  readonly agentVersion: string;
  readonly dataCenterId: string;
  readonly gpus: readonly GpuStock[];
  readonly isPresent: boolean;
  readonly workers: number;
  readonly isCordoned: boolean;
  readonly isDrained: boolean;
  /** Null when Fleet has not heard the host since it woke. */
  readonly lastSeenAt: number | null;
  /** Null until the host has told since Fleet woke. */
  readonly telemetry: SeenTelemetry | null;
};

/** A worker of an endpoint, for people who look at it. */
export type WorkerView = {
  readonly workerId: string;
  readonly endpointId: string;
  readonly hostId: string;
  /** Release of the endpoint that it runs. */
  readonly version: number;
  readonly dataCenterId: string;
  /** Models of the GPUs that it has. */
  readonly gpuModels: readonly string[];
  /** They stand for cards that its host does not have. */
  readonly isGpuSimulated: boolean;
  readonly state: WorkerState;
  readonly detail: string | null;
  readonly imageDigest: string | null;
  readonly createdAt: number;
  readonly start: WorkerStart | null;
};

/** Which hours of workers are asked for; all in ms, of whole hours. */
export type UsageCall = { readonly since: number; readonly until: number; readonly storedUntil: number };
