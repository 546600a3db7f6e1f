/**
 * What a history consists of, all chosen by its seed: how many hosts and clients, what they do, and which faults there
 * are. Each history has some kinds of faults only, at rates of its own: a fault that is everywhere hides those that need
 * quiet before them.
 */
import type { HostKind } from "../host/inventory.ts";
import type { Random } from "../world/random.ts";
import { congestion, MIXTURES, withCrashes } from "./mixtures.ts";
import { chooseFaults, type Fault, RATES } from "./planned-faults.ts";
import { CHURN, packing, PODS_BESIDE, varietyOf } from "./varied-hosts.ts";

export type HistoryPlan = {
  readonly hostGpus: readonly number[];
  /** What each host has; those that are not listed have GPUs of one model, and no limits. */
  readonly hostKinds: readonly HostKind[];
  /** GPUs of a worker of each endpoint: they compete for the hosts. */
  readonly endpointGpus: readonly number[];
  /** Which GPUs they ask for, in order of preference. */
  readonly endpointGpuIds: readonly string[];
  /** GPU memory that they declare, by which workers share GPUs; 0 for none. */
  readonly endpointGpuMemoryGb: readonly number[];
  /** Those of other endpoints. */
  readonly otherGpuIds: string;
  readonly containerDiskGb: number;
  readonly workersMax: number;
  readonly workersMin: number;
  readonly clientCount: number;
  /** Operations of each client. */
  readonly operationCount: number;
  /** Typical time between two operations of a client, ms. */
  readonly paceMs: number;
  readonly handlerMs: number;
  /** Typical time that the start of a container takes, ms. */
  readonly startMs: number;
  readonly executionTimeoutMs: number;
  readonly idleTimeoutS: number;
  readonly scalerType: "QUEUE_DELAY" | "REQUEST_COUNT";
  readonly scalerValue: number;
  /** Shares of jobs: with a webhook; whose handler yields chunks; whose result goes to R2, and of half as many the input. */
  readonly hooked: number;
  readonly streaming: number;
  readonly large: number;
  readonly isPurging: boolean;
  /** Clients submit batches. */
  readonly hasBatches: boolean;
  /** Clients call OpenAI's API. */
  readonly hasOpenai: boolean;
  /** The endpoint gets other limits and images meanwhile. */
  readonly isManaged: boolean;
  /** Jobs have limits of their own. */
  readonly hasPolicies: boolean;
  /** Share of jobs of low priority, beside those of `hasPolicies`. */
  readonly lowPriority: number;
  /** Clients retry what has failed. */
  readonly isRetrying: boolean;
  /** Share of operations that submit a job and cancel it soon. */
  readonly abandoning: number;
  /** Clients call more often than they may. */
  readonly isBursting: boolean;
  /** A client begins with more calls at once than its endpoint takes. */
  readonly isCrowding: boolean;
  /** Time passes after its end, until nothing can be read any more. */
  readonly isAging: boolean;
  /** Clients have pods, which compete with workers for the hosts. */
  readonly hasPods: boolean;
  /** They have several pods each, most of them interruptible. */
  readonly hasCheapPods: boolean;
  /** There is a second account, and clients of each try what belongs to the other. */
  readonly hasSecondAccount: boolean;
  /** Clients make endpoints of their own, and delete them with their jobs. */
  readonly hasDeletions: boolean;
  /** Hosts are cordoned and drained. */
  readonly hasHostChanges: boolean;
  /** A host is removed while it works. */
  readonly hasRemovals: boolean;
  /** Clients make API keys that may do some things only, and end them. */
  readonly hasKeys: boolean;
  /** Clients make, change and delete templates over each public API. */
  readonly hasTemplates: boolean;
  /** Variables of workers refer to a secret, whose value changes. */
  readonly hasSecrets: boolean;
  /** Several objects share the queues of endpoints, more or fewer as time goes on. */
  readonly hasShards: boolean;
  /** Clients read timelines of jobs, and set their times to live. */
  readonly hasTimelines: boolean;
  /** Workers that leave are kept frozen for a while. */
  readonly hasFlashBoot: boolean;
  /** There is a load-balanced endpoint as well, to which clients send requests. */
  readonly hasRequests: boolean;
  /** Clients send requests to their pods. */
  readonly hasPodRequests: boolean;
  /** Some requests are for WebSockets. */
  readonly hasSockets: boolean;
  /** Clients have tunnels into containers. */
  readonly hasTunnels: boolean;
  /** Containers print, and clients read and follow the logs of their endpoints. */
  readonly hasLogs: boolean;
  /** Share of jobs whose handler prints more than it may. */
  readonly flooding: number;
  /** Some of those run commands. */
  readonly hasCommands: boolean;
  /** Jobs that a worker has at once. */
  readonly jobsPerWorker: number;
  readonly faults: ReadonlyMap<Fault, number>;
};

const SCALERS: readonly Pick<HistoryPlan, "scalerType" | "scalerValue">[] = [
  { scalerType: "QUEUE_DELAY", scalerValue: 4 },
  { scalerType: "QUEUE_DELAY", scalerValue: 1 },
  { scalerType: "REQUEST_COUNT", scalerValue: 1 },
];

/** Hosts of which each has what any worker asks for but GPUs. */
export const ALIKE = {
  hostKinds: [],
  endpointGpuIds: [],
  endpointGpuMemoryGb: [],
  otherGpuIds: "ADA_24",
  containerDiskGb: 5,
} as const;

/** Beside the removal of a host there is nothing that belongs to a host for good. */
const REMOVAL = {
  hasRemovals: true,
  hasHostChanges: false,
  hasPods: false,
  hasPodRequests: false,
  hasRequests: false,
  hasTunnels: false,
  hasCommands: false,
  hasSockets: false,
  hasLogs: false,
  flooding: 0,
};

/** Share of histories whose hosts differ. */
const VARIED = 0.4;
/** Of those. */
const CONTESTED = 0.3;
const CRASHING = 0.1;
const PACKED = 0.15;
const SHARED = 0.15;
const CONGESTED = 0.07;
const MIXED = 0.3;
const BALANCED = 0.28;
const TUNNELED = 0.1;
const LOGGED = 0.15;
/** Of those with logs. */
const FLOODED = 0.15;
const DELETING = 0.2;
const AGING = 0.04;
const CLOSING = 0.25;
const REMOVING = 0.15;
const KEYED = 0.15;
const TEMPLATED = 0.15;
const SECRETED = 0.15;
const SHARDED = 0.15;
const TIMED = 0.15;
const COMMANDED = 0.6;
/** Of those with requests, and of those with pods. */
const SOCKETED = 0.4;
const ASKED = 0.4;

export function planHistory(random: Random): HistoryPlan {
  const chosen = choosePlan(random);
  const crashing = random.chance(CRASHING) ? withCrashes(chosen) : chosen;
  const plan = { ...crashing, hasShards: random.chance(SHARDED) };
  return random.chance(PACKED) ? { ...plan, ...packing(random, plan) } : plan;
}

function choosePlan(random: Random): HistoryPlan {
  const chosen = chooseFaults(random);
  const hostGpus = Array.from({ length: random.whole(1, 3) }, () => random.whole(1, 3));
  const endpointGpus = Array.from({ length: random.pick([1, 1, 2, 3]) }, () =>
    random.chance(0.2) ? Math.max(...hostGpus) : 1,
  );
  const plan = {
    hostGpus,
    endpointGpus,
    ...ALIKE,
    workersMax: random.whole(1, 4),
    // One that keeps a worker may leave no place for others.
    workersMin: endpointGpus.length === 1 ? random.pick([0, 0, 0, 1, 1, 2]) : 0,
    clientCount: random.whole(1, 3),
    operationCount: random.pick([4, 6, 12]),
    paceMs: random.pick([20, 300, 3_000]),
    handlerMs: random.pick([5, 200, 2_000, 10_000]),
    startMs: random.pick([30, 300]),
    executionTimeoutMs: random.pick([5_000, 20_000, 120_000]),
    idleTimeoutS: random.pick([1, 5, 60]),
    ...random.pick(SCALERS),
    hooked: random.pick(chosen.includes("hookFails") ? [0.4, 1] : [0, 0.4, 1]),
    streaming: random.pick([0, 0.3, 0.8]),
    large: random.pick(chosen.includes("r2Fails") ? [0.05, 0.25] : [0, 0, 0.05, 0.25]),
    isPurging: random.chance(0.25),
    hasBatches: random.chance(0.3),
    hasOpenai: random.chance(0.3),
    isManaged: random.chance(0.3),
    hasPolicies: random.chance(0.3),
    lowPriority: 0,
    isRetrying: random.chance(0.3),
    abandoning: random.chance(0.15) ? 0.3 : 0,
    isBursting: random.chance(0.06),
    isCrowding: false,
    isAging: false,
    hasPods: random.chance(0.25),
    hasCheapPods: random.chance(0.3),
    hasSecondAccount: random.chance(SHARED),
    hasDeletions: false,
    hasHostChanges: false,
    hasRemovals: false,
    hasKeys: false,
    hasTemplates: false,
    hasSecrets: false,
    hasShards: false,
    hasTimelines: false,
    hasFlashBoot: random.chance(0.3),
    hasRequests: false,
    hasPodRequests: false,
    hasSockets: false,
    hasTunnels: false,
    hasLogs: false,
    flooding: 0,
    hasCommands: false,
    jobsPerWorker: random.pick([1, 1, 1, 3]),
    faults: new Map(chosen.map((fault) => [fault, random.pick(RATES[fault])])),
  };
  if (random.chance(CONGESTED)) return { ...plan, ...congestion(random) };
  if (random.chance(MIXED)) return { ...plan, ...random.pick(MIXTURES) };
  const [hasRequests, hasTunnels] = [random.chance(BALANCED), random.chance(TUNNELED)];
  const hasSockets = random.chance(SOCKETED);
  const hasPodRequests = plan.hasPods && random.chance(ASKED);
  const hasCommands = hasTunnels && random.chance(COMMANDED);
  const hasLogs = random.chance(LOGGED);
  const flooding = hasLogs && random.chance(FLOODED) ? 0.3 : 0;
  const hasDeletions = random.chance(DELETING);
  const isAging = random.chance(AGING);
  const forwards = { hasRequests, hasTunnels, hasSockets, hasPodRequests, hasCommands };
  const operations = {
    hasHostChanges: random.chance(CLOSING),
    hasKeys: random.chance(KEYED),
    hasTimelines: random.chance(TIMED),
    hasTemplates: random.chance(TEMPLATED),
    hasSecrets: random.chance(SECRETED),
  };
  const uniform = { ...plan, ...forwards, ...operations, hasLogs, flooding, hasDeletions, isAging };
  if (random.chance(REMOVING) && canLoseHost(plan)) return { ...uniform, ...REMOVAL };
  if (!random.chance(VARIED)) return uniform;
  const varied = random.chance(CONTESTED) ? { ...uniform, ...random.pick([CHURN, PODS_BESIDE]) } : uniform;
  return { ...varied, ...varietyOf(random, varied) };
}

/** Whether the others have a place for each worker when the last host is removed. */
function canLoseHost(plan: HistoryPlan): boolean {
  const left = plan.hostGpus.slice(0, -1);
  // Who has lost its image on the host that stays has no place.
  const isSure = left.length > 0 && plan.hostKinds.length === 0 && !plan.faults.has("pullsFail");
  return isSure && plan.endpointGpus.every((gpuCount) => left.some((gpus) => gpus >= gpuCount));
}
