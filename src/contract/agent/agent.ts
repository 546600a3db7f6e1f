/**
 * Messages between the agent of a host and the edge. All calls are made by the agent.
 *
 *   POST /agent/v1/join                              join token  -> host token
 *   POST /agent/v1/sync                              what the host has -> what it should have
 *   GET  /agent/v1/presence?id=<id>                  a WebSocket with beats; its silence means that the host is lost
 *   POST /agent/v1/endpoints/<endpointId>/exchange   chunks, results, leased jobs, free slots -> jobs, stops
 *   GET  /agent/v1/endpoints/<endpointId>/link       a WebSocket that carries load-balanced requests; see link-frame.ts
 *   PUT  /agent/v1/endpoints/<endpointId>/results/<jobId>/<attempt>
 *                                                    a large result as JSON -> its reference for the report
 *   GET  /agent/v1/artifacts/<sha256>                the packed files of an app; supports Range
 *   GET  /agent/v1/host                              the name of the host, and the agent versions that the edge supports
 *   POST /agent/v1/host/drain                        the host drains: its workers are placed elsewhere
 *   POST /agent/v1/host/leave                        removes the host and revokes its token
 *
 * Everything is level-triggered: a call carries the whole state, so a lost or doubled call does no harm.
 */
import * as z from "zod";
import { contentSchema, HOST_CONTENTS_MAX } from "../content.ts";
import { artifactSchema } from "./artifact.ts";
import { lenientList, dropItem } from "../lenient-list.ts";
import { assignedModelsSchema, HOST_MODELS_MAX, hostModelSchema } from "../model.ts";
import { EACH } from "../../json/json-carver.ts";
import { cutsAt, rawJsonSchema, jsonValueSchema } from "../../json/raw-json.ts";
import {
  AGENT_HOLD_MAX_MS,
  CLUSTER_PODS_MAX,
  EXECUTION_TIMEOUT_MAX_MS,
  NAME_MAX_CHARACTERS,
  RESULT_MAX_BYTES,
  ENDPOINT_SHARDS_MAX,
} from "../limits.ts";
import { hostTelemetrySchema, AGO_MAX_MS } from "./telemetry.ts";

/** Free slots of one worker that are counted at a time. */
const SLOTS_COUNTED_MAX = 10_000;
/** What a host has, as JSON: with 256 GPUs and 1,000 volumes it takes 50,000. */
export const INVENTORY_MAX_CHARACTERS = 64_000;
export const AGENT_VERSION_MAX_CHARACTERS = 64;
/** Workers of one host, standby workers included; a sync lists them all. */
export const HOST_WORKERS_MAX = 1_000;
/** Pods that have a volume on one host. */
export const POD_VOLUMES_MAX = 10_000;
/** A container that did not take its first job poll within this time has failed to start. */
export const WORKER_START_LIMIT_MS = 7 * 60_000;
/** Errors of a handler are cut to this length, in characters. */
export const ERROR_MAX_LENGTH = 64_000;

export const idSchema = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z0-9_-]+$/, "may hold letters, digits, _ and - only");
const id = idSchema;
const count = z.number().int().nonnegative();
/** Identifies the present followers of an endpoint's logs: grows with each new follower, 0 for none. */
const follow = count;
/** One of the objects that share the queue of an endpoint; 0 is the first. */
const shard = z
  .number()
  .int()
  .min(0)
  .max(ENDPOINT_SHARDS_MAX - 1);
/** How long ago something happened, in ms: the edge computes the time, so the clock of a host may be wrong. */
const agoMs = count.transform((ms) => Math.min(ms, AGO_MAX_MS));
/** Longer messages are cut, never rejected. */
const DETAIL_MAX_LENGTH = 2_000;
const holdMs = z.number().int().min(0).max(AGENT_HOLD_MAX_MS);

// Inventory

/** Names from a host: longer ones are cut, never rejected. */
const hostName = (max: number) => z.string().overwrite((value) => value.slice(0, max));
const agentVersion = hostName(AGENT_VERSION_MAX_CHARACTERS);

export const gpuSchema = z.object({
  index: count,
  name: hostName(NAME_MAX_CHARACTERS),
  /** GPU tier, such as ADA_24; null when the model belongs to no known tier. */
  tier: hostName(NAME_MAX_CHARACTERS).nullable(),
  memoryMb: count,
  isSimulated: z.boolean(),
  /** Of a part of a card that its owner has divided (MIG); its tier is that of the card. */
  migUuid: hostName(NAME_MAX_CHARACTERS).optional(),
});
export type Gpu = z.infer<typeof gpuSchema>;

/** Fleet holds the inventories of all hosts in memory, so their size is bounded. */
const wholeInventorySchema = z.object({
  gpus: z.array(gpuSchema).max(256),
  cpuCount: count,
  memoryMb: count,
  diskFreeMb: count,
  runtime: z.enum(["docker", "process"]),
  /** Data center that the host is in, such as EU-RO-1. Absent from older agents. */
  dataCenterId: z.string().max(32).optional(),
  /** Newest CUDA version that the driver of the GPUs supports, such as 12.4. Absent from older agents. */
  cudaVersion: z.string().max(32).optional(),
  /** Network volumes that its workers can have. Absent: any. */
  networkVolumeIds: z.array(id).max(1_000).optional(),
  /** Its workers can be frozen and resumed. Absent from older agents, which cannot. */
  canFreeze: z.boolean().optional(),
  /** It runs pods. Absent from older agents, which do not. */
  canRunPods: z.boolean().optional(),
  /** IP address or host name under which clients reach published ports of pods; absent: none are published. */
  publicAddress: z.string().max(253).optional(),
  /** Pods of a cluster reach each other on it, and nobody else does. Absent from older agents. */
  canJoinClusters: z.boolean().optional(),
  /** IPv4 address at which other hosts of the account reach pods of clusters; absent: they do not. */
  clusterAddress: z.ipv4().optional(),
});
export const inventorySchema = wholeInventorySchema.refine(
  (inventory) => JSON.stringify(inventory).length <= INVENTORY_MAX_CHARACTERS,
  `must have at most ${INVENTORY_MAX_CHARACTERS} characters as JSON`,
);
export type Inventory = z.infer<typeof inventorySchema>;

// Join

export const joinRequestSchema = z.object({
  joinToken: z.string().min(1),
  name: z.string().min(1).max(191),
  agentVersion,
  inventory: inventorySchema,
});
export type JoinRequest = z.infer<typeof joinRequestSchema>;

export const joinReplySchema = z.object({ hostId: id, hostToken: z.string() });
export type JoinReply = z.infer<typeof joinReplySchema>;

// The host itself

/** Answer to `GET /agent/v1/host`, with which a host checks whether it is still registered. */
export const hostReplySchema = z.object({
  hostId: id,
  name: z.string(),
  agent: z.object({ current: z.string(), minimum: z.string() }),
});
export type HostReply = z.infer<typeof hostReplySchema>;

// Sync

/**
 * Phase of a worker, as its agent sees it.
 * pulling, starting: not up yet. ready: takes jobs. unhealthy: reported itself so.
 * crash_looping: its container keeps exiting and is restarted with back-off. stopping: drains.
 * standby: frozen for a fast start. Older edges do not know this state, so an agent sends `stopping` and
 * `isStandby`.
 */
export const WORKER_STATES = [
  "pulling",
  "starting",
  "ready",
  "unhealthy",
  "crash_looping",
  "stopping",
  "standby",
] as const;
export type WorkerState = (typeof WORKER_STATES)[number];

const detailString = z.string().overwrite((value) => value.slice(0, DETAIL_MAX_LENGTH));

/** Ports of one pod. */
export const POD_PORTS_MAX = 32;
/** From 70000 on, a number is no port but stands for one that is the same inside and outside. */
export const POD_SYMMETRIC_PORT_MIN = 70_000;
export const POD_SYMMETRIC_PORT_MAX = 79_999;
const portNumber = z.int().min(1).max(65_535);

/** A TCP port of a pod that is published at a port of its host. */
export const publishedPortSchema = z.object({
  /** The number in the settings of the pod; POD_SYMMETRIC_PORT_MIN or more for a symmetric port. */
  requested: z.int().min(1).max(POD_SYMMETRIC_PORT_MAX),
  /** The port in the container. */
  private: portNumber,
  /** The port of the host. */
  public: portNumber,
});
export type PublishedPort = z.infer<typeof publishedPortSchema>;

/** What a pod's container shows. */
const podReportSchema = z.object({
  ports: z.array(publishedPortSchema).max(POD_PORTS_MAX),
  /** Use of the container's CPU and memory limits. */
  cpuPercent: z.number().nonnegative().optional(),
  memoryPercent: z.number().nonnegative().optional(),
});
export type PodReport = z.infer<typeof podReportSchema>;

export const workerReportSchema = z.object({
  workerId: id,
  endpointId: id,
  revision: count,
  state: z.enum(WORKER_STATES),
  /** For users: pull progress, last log line of a crash. */
  detail: detailString.optional(),
  isStandby: z.boolean().optional(),
  /** What its container runs, by content: a registry digest, or an image id where there is no registry. */
  imageDigest: z.string().max(256).optional().catch(undefined),
  /** Failed starts, or pulls before them: how many in a row, and how long ago the first was. */
  failing: z.object({ times: count, ago: agoMs }).optional().catch(undefined),
  /** How the worker came up, as far as the agent saw it. Absent from older agents. */
  ago: z
    .object({
      /** Its agent heard that it should start it, or resume it; absent where a container of its was there before. */
      assigned: agoMs,
      pullStarted: agoMs,
      pullEnded: agoMs,
      filesStarted: agoMs,
      filesEnded: agoMs,
      modelsStarted: agoMs,
      modelsEnded: agoMs,
      containerStarting: agoMs,
      containerStarted: agoMs,
      /** Its program has made its first call, or its server has answered. */
      runtimeStarted: agoMs,
      ready: agoMs,
    })
    .partial()
    .optional()
    .catch(undefined),
  /** Of a pod whose container runs. */
  container: podReportSchema.optional().catch(undefined),
});
export type WorkerReport = z.infer<typeof workerReportSchema>;
/** A step of the start of a worker. */
export type StartStep = keyof NonNullable<WorkerReport["ago"]>;

const workerRef = z.object({ workerId: id, endpointId: id, revision: count.catch(0) });

/** A worker that its agent lists exists, whatever else of its report cannot be read. */
function unreadableWorker(report: unknown, issue: string): WorkerReport | undefined {
  const { data } = workerRef.safeParse(report);
  const detail = `The edge cannot read what the agent says of this worker (${issue}).`;
  return data && { ...data, state: "unhealthy", detail };
}

export const syncRequestSchema = z.object({
  agentVersion,
  inventory: inventorySchema,
  workers: lenientList(workerReportSchema, unreadableWorker, HOST_WORKERS_MAX),
  /** Revision of the last reply that the agent has applied; 0 for none. */
  appliedRevision: count,
  /** The agent syncs again within this time, and the edge answers within it. */
  holdMs,
  /** The presence that is open now. Without one, only the next sync shows that the host is still there. */
  presence: idSchema.optional(),
  /** Use of the host. Absent from older agents; an invalid one does not fail the sync. */
  telemetry: hostTelemetrySchema.optional().catch(undefined),
  /** Whole models on this host. Absent from older agents; an invalid list does not fail the sync. */
  models: lenientList(hostModelSchema, dropItem, HOST_MODELS_MAX).optional().catch(undefined),
  /** Images and files of apps on this host. Absent from older agents. */
  contents: lenientList(contentSchema, dropItem, HOST_CONTENTS_MAX).optional().catch(undefined),
});
export type SyncRequest = z.infer<typeof syncRequestSchema>;

/** Both ends of a presence connection send this; the edge answers each beat with a beat. */
export const PRESENCE_BEAT = ".";
export const presenceQuerySchema = z.object({ id });
/** Close reason of an agent that is about to open its next presence. */
export const PRESENCE_REPLACED = "replaced";

export const PROBLEM_MAX_LENGTH = 2_000;

/** What a worker does: takes jobs, serves requests, or runs a pod. */
const workerTypeSchema = z.enum(["QB", "LB", "POD"]);

/** What the container of a pod may want beside its own program: sshd on port 22, Jupyter on port 8888. */
const podServiceSchema = z.enum(["ssh", "jupyter"]);
export type PodService = z.infer<typeof podServiceSchema>;

/** What only pods have. */
export const assignedPodSchema = z.object({
  /** GB of the volume on this host; 0 for none. It stays until no sync names the pod any more. */
  volumeInGb: count,
  /** Another number is another volume, which is empty at first. Absent from older edges: 0. */
  volumeNumber: count.optional(),
  /** Where the container finds that volume, or the network volume; empty for none. */
  volumeMountPath: z.string(),
  /**
   * Ports that its programs listen on. A TCP port above 70000 stands for any port that has the same number inside and
   * outside.
   */
  ports: z
    .array(z.object({ port: z.int().min(1).max(POD_SYMMETRIC_PORT_MAX), protocol: z.enum(["tcp", "http"]) }))
    .max(POD_PORTS_MAX),
  /** Absent from older edges, which leave all of it to the image. */
  services: z.array(podServiceSchema).max(2).optional().catch(undefined),
  /** The address of its container in the network of clusters; absent for any address in that of the workers. */
  clusterAddress: z.ipv4().optional(),
});
export type AssignedPod = z.infer<typeof assignedPodSchema>;

/** "This host shall run this worker": everything that the agent needs to run it, secrets resolved. */
export const assignmentSchema = z.object({
  workerId: id,
  endpointId: id,
  /** Version of the endpoint; workers of older versions are replaced. */
  revision: count,
  type: workerTypeSchema,
  imageName: z.string(),
  /** Start arguments: passed to the image, or the command itself in the process runtime. */
  dockerArgs: z.string(),
  env: z.record(z.string(), z.string()),
  containerDiskInGb: count,
  /** Indexes of the GPUs of the host that are the worker's. */
  gpuIndexes: z.array(count),
  /** MiB that it may take of each of these, which it shares with others; absent: they are its own. */
  gpuMemoryMb: count.optional(),
  registryAuth: z
    .object({
      username: z.string(),
      password: z.string(),
      /** Name of the credential, for messages. Absent from older edges. */
      name: z.string().optional(),
    })
    .nullable(),
  /** Time that a container may take from its start to its first job poll. */
  startLimitMs: count,
  /**
   * standby: the worker takes no jobs, and its container is frozen once its jobs have ended. Sent only to agents
   * that support it; absent for a worker that runs.
   */
  mode: z.enum(["run", "standby"]).optional(),
  /**
   * Why no container may be started for now, for users; the assignment is sent again when that is over. For older
   * agents, which do not know this member, image, arguments and variables are such that nothing starts.
   */
  problem: z.string().max(PROBLEM_MAX_LENGTH).optional(),
  /**
   * The worker is of an older version, but this describes the newest one: only an agent that does not know the older
   * one may start the worker from it. Absent from older edges.
   */
  isSuperseded: z.boolean().optional(),
  /** What the worker may use of the host; absent: everything. Absent from older edges. */
  limits: z.object({ cpuMilli: count, memoryMb: count }).optional(),
  /** Network volumes of the endpoint: the worker gets the first that its host has. Absent from older edges. */
  networkVolumeIds: z.array(id).max(1_000).optional(),
  /** Files of an app, which the worker finds unpacked at APP_DIRECTORY. Absent for images that bring all they need. */
  artifact: artifactSchema.optional(),
  /** Models that the worker finds in HF_HUB_CACHE. Absent for none, and from older edges. */
  models: assignedModelsSchema.optional(),
  /** Values of secrets, which must not appear in logs. Absent from older edges. */
  masked: z.array(z.string()).optional(),
  /** Of a worker of type POD. */
  pod: assignedPodSchema.optional(),
});
export type Assignment = z.infer<typeof assignmentSchema>;

const assignmentRef = z.object({
  workerId: id,
  endpointId: id,
  revision: count,
  type: workerTypeSchema.catch("QB"),
  mode: z.enum(["run", "standby"]).optional().catch(undefined),
});

/**
 * Parts of an assignment of which nothing can be started, for the reason that it gives. Agents that know no problems
 * say of the image that a sentence is no name of one; without arguments there is no process to start either.
 */
export function unstartable(reason: string) {
  const problem = reason.slice(0, PROBLEM_MAX_LENGTH);
  return { problem, imageName: problem, dockerArgs: "", env: {}, registryAuth: null };
}

/** An assignment of a worker for which only a problem can be reported. */
export function problemAssignment(
  { workerId, endpointId, revision, type, mode }: z.infer<typeof assignmentRef>,
  reason: string,
): Assignment {
  const nothing = { containerDiskInGb: 0, gpuIndexes: [], startLimitMs: WORKER_START_LIMIT_MS };
  return { workerId, endpointId, revision, type, ...(mode && { mode }), ...nothing, ...unstartable(reason) };
}

/** A running worker stays, and its owner reads why it does not start again. */
function unreadableAssignment(assignment: unknown, issue: string): Assignment | undefined {
  const { data } = assignmentRef.safeParse(assignment);
  const reason = `The agent of this host cannot read what the worker is made of (${issue}). On the host, run: sudo edgerun-agent upgrade`;
  return data && problemAssignment(data, reason);
}

/** What an agent may store of an assignment on disk: nothing derived from a secret. */
export const assignmentOutlineSchema = assignmentSchema
  .pick({
    workerId: true,
    endpointId: true,
    revision: true,
    type: true,
    startLimitMs: true,
    gpuMemoryMb: true,
  })
  .extend({ gpuIndexes: z.array(count).default([]) }); // older agents did not store them
export type AssignmentOutline = z.infer<typeof assignmentOutlineSchema>;

/** The network of pods of clusters, as a host shall have it while it runs such pods. */
export const clusterNetworkSchema = z.object({
  /** The same on all hosts. */
  network: z.cidrv4(),
  /** Of the bridge. */
  gateway: z.ipv4(),
  /** Those of which pods are on the host. Only pods of the same one reach each other. */
  clusters: z
    .array(
      z.object({
        clusterId: id,
        /** Addresses of its pods on this host. */
        local: z.array(z.ipv4()).max(CLUSTER_PODS_MAX),
        /** Those on other hosts, and where these are reached. */
        remote: z.array(z.object({ address: z.ipv4(), via: z.ipv4() })).max(CLUSTER_PODS_MAX),
      }),
    )
    .max(HOST_WORKERS_MAX),
});
export type ClusterNetwork = z.infer<typeof clusterNetworkSchema>;

/** What the agent shows the owner of the host. `refused`: it gets no new work and finishes what it has. */
export const agentNoticeSchema = z.object({ kind: z.enum(["outdated", "refused"]), message: z.string() });
export type AgentNotice = z.infer<typeof agentNoticeSchema>;

export const syncReplySchema = z.object({
  revision: count,
  assignments: lenientList(assignmentSchema, unreadableAssignment),
  /**
   * Pods whose volumes stay on this host, whether they run or are stopped; those of all others are removed. Absent
   * from older edges: nothing is removed.
   */
  podVolumes: z.array(id).max(POD_VOLUMES_MAX).optional(),
  /** Absent where no pod of a cluster that has addresses is on the host, and from older edges. */
  clusterNetwork: clusterNetworkSchema.optional(),
  /** Absent when there is no notice, and from older edges. */
  notice: agentNoticeSchema.optional().catch(undefined),
});
export type SyncReply = z.infer<typeof syncReplySchema>;

// Exchange

const attempt = z.number().int().positive();
const attemptRef = { jobId: id, attempt, workerId: id };
const attemptRefSchema = z.object(attemptRef);

/** Cut, never rejected: a long traceback must not lose the result. */
const errorString = z.string().transform((value) => value.slice(0, ERROR_MAX_LENGTH));

// Results

/** Parameters in the path of an upload. */
export const uploadParamsSchema = z.object({ jobId: id, attempt: z.coerce.number().int().positive() });

/**
 * A result that was uploaded. Its place is that of the attempt, so an upload may be repeated, and a report
 * can name no other. What no report names is removed with the attempt.
 */
export const uploadSchema = z.object({ sizeBytes: z.number().int().positive().max(RESULT_MAX_BYTES) });
export type Upload = z.infer<typeof uploadSchema>;

/** `refused`: the attempt no longer owns the job; drop the result. */
export const uploadReplySchema = z.discriminatedUnion("outcome", [
  z.object({ outcome: z.literal("accepted"), upload: uploadSchema }),
  z.object({ outcome: z.literal("refused") }),
]);
export type UploadReply = z.infer<typeof uploadReplySchema>;

/** The outcome of a result that cannot be read: its job fails with the reason, or the agent would resend it forever. */
function unreadableReport(report: unknown, issue: string) {
  const { data } = attemptRefSchema.safeParse(report);
  const error = `The edge cannot read the worker's result (${issue}).`;
  return data && { kind: "failed" as const, ...data, error };
}

function unreadableChunks(batch: unknown, issue: string) {
  const { data } = attemptRefSchema.safeParse(batch);
  const message = `The edge cannot read what the worker yielded (${issue}).`;
  return data && { ...data, from: 1, outputs: [], error: message };
}

/** A worker offers the rest with its next exchange. */
const freeSlots = z
  .number()
  .int()
  .positive()
  .transform((free) => Math.min(free, SLOTS_COUNTED_MAX));

/**
 * What an agent reports to the edge in an exchange. `value`: the form in which the reader gets users' values, either
 * JSON values or JSON texts.
 */
function exchangeRequestOf<Value extends z.ZodType>(value: Value) {
  /** A result travels in its report, or was uploaded before; one above INLINE_PAYLOAD_MAX_BYTES shall be uploaded. */
  const result = { output: value.optional(), upload: uploadSchema.optional() };

  /** What became of an attempt. `lost`: the worker is gone, or never posted a result. */
  const report = z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("completed"), ...attemptRef, ...result }),
    z.object({ kind: z.literal("failed"), ...attemptRef, error: errorString, ...result }),
    z.object({ kind: z.literal("timed_out"), ...attemptRef }),
    z.object({ kind: z.literal("lost"), ...attemptRef, reason: detailString }),
  ]);

  const leasedJob = z.object({
    ...attemptRef,
    /** Last progress value of the handler. */
    progress: value.optional(),
    /** When the worker took the job, and when it gave its result. Older agents send none. */
    ago: z.object({ handlerStarted: agoMs, handlerFinished: agoMs }).partial().optional().catch(undefined),
  });

  /**
   * What a handler yielded, in order. Chunks of an attempt are numbered from 1 without gaps and sent until they
   * are acknowledged, one batch of an attempt at a time; a report goes with or after the last of them.
   */
  const chunkBatch = z
    .object({
      ...attemptRef,
      /** Number of the first chunk of this batch. */
      from: z.number().int().positive(),
      /** None of them has more than CHUNK_MAX_BYTES as JSON text. */
      outputs: z.array(value).max(10_000),
      /** Set by the reader: why it cannot be read, which ends the attempt. */
      error: z.string().optional(),
    })
    .refine(({ outputs, error }) => outputs.length > 0 || error !== undefined, {
      path: ["outputs"],
      message: "must hold at least one",
    });

  return z.object({
    /** Random for each start of the agent; a new session has only the attempts that it lists. */
    session: id,
    /** That of the agent's process before, which is over; absent where none is known, and from older agents. */
    previousSession: id.optional(),
    /** Counts the exchanges of a session on this endpoint, from 1. */
    turn: z.number().int().positive(),
    /** `at` of the newest reply that this session has got; absent before, and from older agents. */
    newestReplyAt: count.optional(),
    /** Other turns still waiting for their reply; jobs in those replies are on their way, not lost. */
    openTurns: z.array(z.number().int().positive()).max(64),
    /**
     * Every attempt that the agent has and whose report is not yet acknowledged. A job that came for a worker
     * which cannot take it any more is declined by never being listed: it goes back, and no attempt is blamed.
     */
    held: lenientList(leasedJob, dropItem, 10_000),
    reports: lenientList(report, unreadableReport, 1_000),
    /** Taken before the reports of the same exchange. Agents that know no streams send none. */
    chunks: lenientList(chunkBatch, unreadableChunks, 1_000).default([]),
    /** Free slots by ready worker; empty when the agent wants no job now. */
    slots: lenientList(z.object({ workerId: id, free: freeSlots }), dropItem, 1_000),
    /** 0: answer at once. Above 0: hold until there is a job or a stop; replaces an older hold of this agent. */
    holdMs,
    /** The followers that the agent knows; answered at once when they change. Absent from older agents. */
    follow: follow.optional(),
    /** Which object of the endpoint; absent for the first one. */
    shard: shard.optional(),
    /**
     * To the first object: `number` of what the agent knows of the objects of the endpoint, 0 at first; answered at once
     * when that changes. Absent from older agents, whose workers serve the first object alone.
     */
    shards: count.optional(),
  });
}

export const exchangeRequestSchema = exchangeRequestOf(jsonValueSchema);
export type ExchangeRequest = z.infer<typeof exchangeRequestSchema>;
/** A running attempt, whose lease the exchange extends. */
export type LeaseRenewal = ExchangeRequest["held"][number];

/** The same with users' values as the texts that they are. */
export const rawExchangeRequestSchema = exchangeRequestOf(rawJsonSchema);
export type RawExchangeRequest = z.infer<typeof rawExchangeRequestSchema>;
export const EXCHANGE_REQUEST_CUTS = cutsAt(
  ["held", EACH, "progress"],
  ["reports", EACH, "output"],
  ["chunks", EACH, "outputs", EACH],
);

/** Dispatched jobs. */
function dispatchedJobsOf<Value extends z.ZodType>(value: Value) {
  const ref = { id, attempt, workerId: id, input: value };
  /** What the container sees is `id`, `input` and the optional members. */
  const job = z.object({
    ...ref,
    executionTimeoutMs: z.number().int().positive(),
    webhook: z.string().optional(),
    policy: z.record(z.string(), jsonValueSchema).optional(),
    s3Config: value.optional(),
    batchId: z.string().optional(),
    /** Set by the reader: why it cannot be read, which ends the attempt. */
    error: z.string().optional(),
  });
  const refSchema = z.object(ref);
  return lenientList(job, (unread, issue) => {
    const { data } = refSchema.safeParse(unread);
    const message = `The agent of the worker's host cannot read the job (${issue}). On the host, run: sudo edgerun-agent upgrade`;
    return (
      data &&
      ({ ...data, executionTimeoutMs: EXECUTION_TIMEOUT_MAX_MS, error: message } as z.output<typeof job>)
    );
  });
}

const shardLoansSchema = z.object({
  number: count,
  count: z.number().int().min(1).max(ENDPOINT_SHARDS_MAX),
  workers: lenientList(z.tuple([id, shard]), dropItem, 1_000),
});
export type ShardLoans = z.infer<typeof shardLoansSchema>;

/** Why the agent must stop a handler. */
export const STOP_REASONS = ["cancelled", "timed_out", "expired", "lease_lost"] as const;
export type StopReason = (typeof STOP_REASONS)[number];

export const exchangeReplySchema = z.object({
  /** When the endpoint made the reply, by its own clock, epoch ms; absent from older edges, and where it made none. */
  at: count.optional().catch(undefined),
  /** One entry per report. `refused`: the attempt no longer owned the job; drop the result. */
  acks: lenientList(z.object({ jobId: id, attempt, outcome: z.enum(["accepted", "refused"]) }), dropItem),
  /**
   * One entry per batch of chunks: chunks up to and including this number need not be sent again. Chunks that
   * the edge discards are acknowledged too. Absent from an edge that does not support streams.
   */
  chunkAcks: lenientList(z.object({ jobId: id, attempt, received: count }), dropItem).optional(),
  jobs: dispatchedJobsOf(jsonValueSchema),
  stops: lenientList(
    z.object({ jobId: id, attempt, reason: z.enum(STOP_REASONS).catch("lease_lost") }),
    dropItem,
  ),
  /** Followers of the logs of this endpoint, which get lines at once. Absent: unchanged. */
  follow: follow.optional(),
  /** The objects of the endpoint: how many there are, and which workers of the host serve another than the first. */
  shards: shardLoansSchema.optional().catch(undefined),
});
export type ExchangeReply = z.infer<typeof exchangeReplySchema>;
/** A job as a reply brings it: with parsed values, or those of a `RawExchangeReply`. */
export type DispatchedJob<Reply extends { readonly jobs: readonly unknown[] } = ExchangeReply> =
  Reply["jobs"][number];

/** The same with users' values as the JSON strings that came. */
export const rawExchangeReplySchema = exchangeReplySchema.extend({
  jobs: dispatchedJobsOf(rawJsonSchema.transform(({ json }) => json)),
});
export type RawExchangeReply = z.infer<typeof rawExchangeReplySchema>;
export const EXCHANGE_REPLY_CUTS = cutsAt(["jobs", EACH, "input"], ["jobs", EACH, "s3Config"]);
