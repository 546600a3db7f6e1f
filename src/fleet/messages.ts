/** RPC messages of the Fleet object. */
import type {
  ClusterNetwork,
  Inventory,
  PublishedPort,
  WorkerReport,
  WorkerState,
} from "../contract/agent/agent.ts";
import type { HostTelemetry } from "../contract/agent/telemetry.ts";
import type { HostModel } from "../contract/model.ts";
import type { PodConfig } from "../contract/pod.ts";
import type { Budget, BudgetState, Period } from "../domain/costs/budget.ts";
import type { HostPrice } from "../domain/costs/host-price.ts";
import type { PlacementFailure } from "../domain/placement/host-pool.ts";
import type { GpuStock, HostStock } from "../domain/placement/stock.ts";
import type { StopReason } from "../domain/pods/pod-life.ts";
import type { WorkerLimits } from "../domain/placement/host-capacity.ts";
import type { WorkerStart } from "../domain/jobs/worker-start.ts";
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
  /** The open presence of the host. */
  readonly presence?: string | undefined;
  readonly telemetry?: HostTelemetry | undefined;
  readonly models?: readonly HostModel[] | undefined;
  /** Images and files of apps that the host has; see content.ts. */
  readonly contents?: readonly string[] | undefined;
};

export type AssignedWorker = {
  readonly workerId: string;
  readonly endpointId: string;
  readonly version: number;
  readonly gpuIndexes: readonly number[];
  /** What it may take of each of these, which it shares; absent: they are its own. */
  readonly gpuMemoryMb?: number | undefined;
  /** Absent for one that runs. */
  readonly mode?: "standby";
  /** It is a pod, whose id its `workerId` and `endpointId` are. */
  readonly isPod?: true;
  /** Of a pod of a cluster: its own address and, where that is known, the address of the first pod. */
  readonly cluster?: { readonly address: string; readonly primaryAddress: string | null } | undefined;
  /** Of a pod: which of its local volumes it has. */
  readonly volumeNumber?: number | undefined;
  /** Absent for a worker that may use the whole host. */
  readonly limits?: WorkerLimits | undefined;
};

export type AssignmentsReply = {
  readonly kind: "assignments";
  readonly revision: number;
  readonly workers: readonly AssignedWorker[];
  /** Pods whose volumes the host keeps. */
  readonly podVolumes: readonly string[];
  /** Absent where no pod of a cluster that has addresses is on the host. */
  readonly clusterNetwork?: ClusterNetwork | undefined;
};

export type FleetSyncReply =
  | AssignmentsReply
  /** No change: wait on a wake-up channel, and call again if there is news. Objects of older versions leave out `assigned`. */
  | { readonly kind: "quiet"; readonly assigned?: AssignmentsReply }
  /** The host was removed. */
  | { readonly kind: "removed" };

/** What the present hosts have free at a time of the object, without their owner. */
export type StockReport = { readonly at: number; readonly hosts: readonly HostStock[] };

/** What a call of a host has changed for the catalog; absent when it knows it. */
export type WithStock = { readonly stock?: StockReport };

/** A budget and what is spent of it, in dollars, in the present period. */
export type BudgetView = Budget & Period & { readonly spent: number; readonly state: BudgetState };

// Pods

/** A pod as Fleet knows it. */
export type PodView = {
  readonly podId: string;
  readonly accountId: string;
  readonly version: number;
  /** As its container shall be now; D1 has another one while a change is under way, or after one that broke off. */
  readonly config: PodConfig;
  readonly desired: "running" | "stopped";
  /** Null while it shall run. */
  readonly stopReason: StopReason | null;
  /** Since when its desired state is this. */
  readonly changedAt: number;
  /** The host that runs it, or has its volume; null for none. */
  readonly host: PodHost | null;
  /** Its container; null while it has no place. */
  readonly worker: WorkerView | null;
  readonly ports: readonly PublishedPort[];
  /** Where the other pods of its cluster reach it; null for none. */
  readonly clusterAddress: string | null;
  readonly cpuPercent: number | null;
  readonly memoryPercent: number | null;
  /** Of its GPUs in their order; null for what is not known. */
  readonly gpuUse: readonly GpuUse[];
  /** Why it shall run and has no place. */
  readonly waiting: PlacementFailure | null;
};

/** In percent. */
export type GpuUse = { readonly utilPercent: number | null; readonly memoryPercent: number | null };

export type PodHost = {
  readonly hostId: string;
  readonly name: string;
  readonly isPresent: boolean;
  /** It gets no new pods. One that has its volume there stays until its owner stops it; others move. */
  readonly isDrained: boolean;
  readonly lastSeenAt: number | null;
  readonly publicAddress: string | null;
  readonly dataCenterId: string;
};

/**
 * `start`, `restart`, `edit` and `stop` take a pod from any state; what is already so stays as it is. An edit leaves a
 * stopped pod stopped; one whose configuration has the version that the pod has (of its name, its bid, its times)
 * leaves its container alone.
 */
export type PodChange =
  | { readonly kind: "start"; readonly config: PodConfig }
  | { readonly kind: "edit"; readonly config: PodConfig }
  | { readonly kind: "restart"; readonly config: PodConfig }
  | { readonly kind: "stop" }
  | { readonly kind: "terminate" };

export type PodChangeCall = {
  readonly podId: string;
  readonly accountId: string;
  readonly change: PodChange;
};

export type PodOutcome =
  | { readonly kind: "done"; readonly pod: PodView }
  /** Nothing was changed. `failure` is the true reason. */
  | { readonly kind: "no_capacity"; readonly failure: PlacementFailure }
  /** Nothing was changed: its volume is on a host that is away, drained or has no capacity. */
  | { readonly kind: "volume_elsewhere"; readonly host: PodHost; readonly failure: PlacementFailure }
  | { readonly kind: "not_found" };

export type WorkerOfEndpoint = { readonly workerId: string; readonly endpointId: string };

/** `endpointId` is that of a worker, and the id of a pod itself. */
export type WorkerPlace = { readonly endpointId: string; readonly hostId: string; readonly isPod: boolean };

/** A change by the owner of a host; absent members are left unchanged. */
/** A host as D1 has it. */
export type NamedHost = { readonly id: string; readonly accountId: string; readonly name: string };

export type HostChange = {
  readonly hostId: string;
  readonly accountId: string;
  readonly name: string;
  readonly cordoned?: boolean | undefined;
  readonly drained?: boolean | undefined;
  /** Null: nominal prices. */
  readonly price?: HostPrice | null | undefined;
};

/** A host, for its owner. */
export type HostView = {
  readonly hostId: string;
  readonly agentVersion: string;
  readonly dataCenterId: string;
  readonly gpus: readonly GpuStock[];
  readonly isPresent: boolean;
  readonly workers: number;
  readonly isCordoned: boolean;
  readonly isDrained: boolean;
  /** Null for nominal prices. */
  readonly price: HostPrice | null;
  /** Null when the host has not called since the object started. */
  readonly lastSeenAt: number | null;
  /** Null until the host has reported it since the object started. */
  readonly telemetry: SeenTelemetry | null;
  /** Models on it. Null until the host has reported them since the object started. */
  readonly models: readonly HostModel[] | null;
};

/** A worker of an endpoint, for users. */
export type WorkerView = {
  readonly workerId: string;
  readonly endpointId: string;
  readonly hostId: string;
  /** Version of the endpoint that it runs. */
  readonly version: number;
  readonly dataCenterId: string;
  /** Models of the GPUs that it has. */
  readonly gpuModels: readonly string[];
  /** What it has of each of these: 1 where it has the GPU to itself. */
  readonly gpuParts: readonly number[];
  /** What it may use of its host beside GPUs; null where nothing limits it. */
  readonly limits: WorkerLimits | null;
  /** Its host simulates the GPUs. */
  readonly isGpuSimulated: boolean;
  readonly state: WorkerState;
  readonly detail: string | null;
  readonly imageDigest: string | null;
  readonly createdAt: number;
  readonly start: WorkerStart | null;
};

/** Which hours of workers are requested, in ms of whole hours. */
export type UsageCall = { readonly since: number; readonly until: number; readonly storedUntil: number };
