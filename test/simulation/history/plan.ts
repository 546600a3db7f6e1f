/**
 * What a history consists of, all chosen by its seed: how many hosts and clients, what they do, and which faults there
 * are. Each history has some kinds of faults only, at rates of its own: a fault that is everywhere hides those that need
 * quiet before them.
 */
import type { Random } from "../world/random.ts";

export const FAULTS = [
  "agentKilled",
  "agentPartitioned",
  "clockJumps",
  "clockSkew",
  "containerDies",
  "daemonBroken",
  "callsLost",
  "answersLost",
  "slowNetwork",
  "requestsRepeated",
  "bodiesTorn",
  "strayAnswers",
  "d1Fails",
  "r2Fails",
  "diskFull",
  "diskLies",
  "portTaken",
  "powerLost",
  "objectCrashes",
  "objectEvicted",
  "redeployment",
  "scriptCrashes",
  "workerDies",
  "workerFails",
  "workerForgets",
  "workerHangs",
  "workerRepeats",
  "workerStalls",
  "hookFails",
  "stopsIgnored",
  "killsHang",
  "pullsFail",
  "pullsSlow",
] as const;
export type Fault = (typeof FAULTS)[number];

export type HistoryPlan = {
  readonly hostGpus: readonly number[];
  /** GPUs of a worker of each endpoint: they compete for the hosts. */
  readonly endpointGpus: readonly number[];
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
  /** Clients have pods, which compete with workers for the hosts. */
  readonly hasPods: boolean;
  /** There is a second account, and clients of each try what belongs to the other. */
  readonly hasSecondAccount: boolean;
  /** Clients make endpoints of their own, and delete them with their jobs. */
  readonly hasDeletions: boolean;
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
  /** Some of those run commands. */
  readonly hasCommands: boolean;
  /** Jobs that a worker has at once. */
  readonly jobsPerWorker: number;
  readonly faults: ReadonlyMap<Fault, number>;
};

/** How often each kind happens when it happens at all: times in the history; shares of calls; of clocks and disks, ms. */
const RATES: Record<Fault, readonly number[]> = {
  agentKilled: [1, 3],
  agentPartitioned: [1, 2],
  clockJumps: [1, 3],
  clockSkew: [10, 1_000],
  containerDies: [1, 4],
  daemonBroken: [1, 2],
  callsLost: [0.01, 0.1],
  answersLost: [0.01, 0.1],
  slowNetwork: [0.02, 0.2],
  requestsRepeated: [0.02, 0.2],
  bodiesTorn: [0.01, 0.1],
  strayAnswers: [0.01, 0.1],
  d1Fails: [0.02, 0.2],
  r2Fails: [0.1, 0.4],
  diskFull: [1, 3],
  diskLies: [100, 2_000],
  portTaken: [0.5, 1],
  powerLost: [1, 2],
  objectCrashes: [1, 6],
  objectEvicted: [3, 20],
  redeployment: [1, 2],
  scriptCrashes: [1, 4],
  workerDies: [0.05, 0.3, 0.7],
  workerFails: [0.1, 0.5],
  workerForgets: [0.1, 0.3],
  workerHangs: [0.1, 0.3],
  workerRepeats: [0.1, 0.5],
  workerStalls: [0.1, 0.5],
  hookFails: [0.2, 0.7],
  stopsIgnored: [0.2, 0.7],
  killsHang: [0.2, 0.7],
  pullsFail: [2, 8],
  pullsSlow: [0.3, 0.8],
};

/** Kinds that happen only when another one does. */
const NEEDED: Partial<Record<Fault, Fault>> = { portTaken: "agentKilled", diskLies: "powerLost" };

/** How many kinds of faults a history has: some are quiet, so that what needs no fault is seen as well. */
const SHARES = [0, 0.1, 0.1, 0.25, 0.4];
/** Kinds that meet in reality; by chance alone three of them would seldom meet here. */
const THEMES: readonly (readonly Fault[])[] = [
  ["agentKilled", "daemonBroken", "portTaken", "diskFull", "diskLies", "powerLost", "containerDies"],
  ["agentKilled", "daemonBroken", "portTaken"],
  ["agentPartitioned", "daemonBroken", "containerDies", "workerHangs"],
  ["agentPartitioned", "objectCrashes", "objectEvicted", "workerHangs"],
  ["objectCrashes", "objectEvicted", "redeployment", "scriptCrashes", "d1Fails", "r2Fails"],
  ["stopsIgnored", "killsHang", "pullsFail", "pullsSlow", "agentKilled"],
  ["callsLost", "answersLost", "slowNetwork", "requestsRepeated", "bodiesTorn", "strayAnswers"],
];
const THEMED = 0.35;
const SHARE_OF_THEME = 0.65;
const SHARE_BESIDE_THEME = 0.06;

const SCALERS: readonly Pick<HistoryPlan, "scalerType" | "scalerValue">[] = [
  { scalerType: "QUEUE_DELAY", scalerValue: 4 },
  { scalerType: "QUEUE_DELAY", scalerValue: 1 },
  { scalerType: "REQUEST_COUNT", scalerValue: 1 },
];

const SHARED = 0.15;
const CONGESTED = 0.07;
const MIXED = 0.2;
const BALANCED = 0.28;
const TUNNELED = 0.1;
const LOGGED = 0.05;
const DELETING = 0.2;
const COMMANDED = 0.6;
/** Of those with requests, and of those with pods. */
const SOCKETED = 0.4;
const ASKED = 0.4;

export function planHistory(random: Random): HistoryPlan {
  const chosen = chooseFaults(random);
  const hostGpus = Array.from({ length: random.whole(1, 3) }, () => random.whole(1, 3));
  const endpointGpus = Array.from({ length: random.pick([1, 1, 2, 3]) }, () =>
    random.chance(0.2) ? Math.max(...hostGpus) : 1,
  );
  const plan = {
    hostGpus,
    endpointGpus,
    workersMax: random.whole(1, 4),
    // One that keeps a worker may leave no place for others.
    workersMin: endpointGpus.length === 1 && random.chance(0.3) ? 1 : 0,
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
    hasPods: random.chance(0.25),
    hasSecondAccount: random.chance(SHARED),
    hasDeletions: false,
    hasFlashBoot: random.chance(0.3),
    hasRequests: false,
    hasPodRequests: false,
    hasSockets: false,
    hasTunnels: false,
    hasLogs: false,
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
  const hasDeletions = random.chance(DELETING);
  const forwards = { hasRequests, hasTunnels, hasSockets, hasPodRequests, hasCommands };
  return { ...plan, ...forwards, hasLogs, hasDeletions };
}

const ONE_CLIENT: Partial<HistoryPlan> = {
  clientCount: 1,
  operationCount: 16,
  handlerMs: 10_000,
  executionTimeoutMs: 120_000,
  isPurging: false,
  isManaged: false,
};
const MIXTURES: readonly Partial<HistoryPlan>[] = [
  // Jobs of low priority occupy workers now and then, when one of normal priority comes, and there are free places.
  {
    ...ONE_CLIENT,
    hostGpus: [3],
    endpointGpus: [1],
    workersMax: 3,
    paceMs: 3_000,
    scalerType: "REQUEST_COUNT",
    scalerValue: 1,
    lowPriority: 0.5,
    faults: new Map(),
  },
  // One long job at a time, which its client cancels, and pauses: what nobody tells a host, it does not learn by chance.
  {
    ...ONE_CLIENT,
    hostGpus: [1],
    endpointGpus: [1],
    workersMax: 1,
    idleTimeoutS: 60,
    paceMs: 10_000,
    handlerMs: 60_000,
    hasPods: false,
    jobsPerWorker: 1,
    abandoning: 1,
    faults: new Map(),
  },
  // Workers have several jobs, some of which hang, and give up requests for more of them.
  {
    ...ONE_CLIENT,
    operationCount: 32,
    hostGpus: [1],
    endpointGpus: [1],
    workersMax: 1,
    paceMs: 300,
    handlerMs: 2_000,
    executionTimeoutMs: 10_000,
    jobsPerWorker: 3,
    abandoning: 0.3,
    hasPolicies: false,
    faults: new Map<Fault, number>([
      ["workerStalls", 0.5],
      ["workerHangs", 0.4],
    ]),
  },
  // Endpoints that share a host and fill it are managed, and compete for what the workers of older versions leave.
  {
    hostGpus: [3],
    endpointGpus: [1, 1],
    workersMax: 3,
    workersMin: 0,
    clientCount: 3,
    operationCount: 16,
    paceMs: 300,
    handlerMs: 2_000,
    executionTimeoutMs: 20_000,
    idleTimeoutS: 60,
    scalerType: "REQUEST_COUNT",
    scalerValue: 1,
    isPurging: false,
    isManaged: true,
    hasPods: false,
    faults: new Map(),
  },
  // Handlers fail, and clients run them again at once, while the host still tells of the run before.
  {
    ...ONE_CLIENT,
    hostGpus: [1],
    endpointGpus: [1],
    handlerMs: 2_000,
    isRetrying: true,
    faults: new Map<Fault, number>([
      ["workerFails", 0.5],
      ["answersLost", 0.1],
    ]),
  },
];

/** More jobs than workers can take: they wait, and some expire. */
function congestion(random: Random): Partial<HistoryPlan> {
  return {
    workersMax: random.pick([1, 2]),
    clientCount: 3,
    operationCount: 16,
    paceMs: 300,
    handlerMs: random.pick([2_000, 10_000]),
    executionTimeoutMs: 20_000,
    hasPolicies: true,
  };
}

function chooseFaults(random: Random): readonly Fault[] {
  const chosen = new Set(chooseSome(random));
  for (const fault of [...chosen]) {
    const needed = NEEDED[fault];
    if (needed) chosen.add(needed);
  }
  return FAULTS.filter((fault) => chosen.has(fault));
}

function chooseSome(random: Random): readonly Fault[] {
  if (!random.chance(THEMED)) {
    const share = random.pick(SHARES);
    return FAULTS.filter(() => random.chance(share));
  }
  const theme = random.pick(THEMES);
  return FAULTS.filter((fault) => random.chance(theme.includes(fault) ? SHARE_OF_THEME : SHARE_BESIDE_THEME));
}
