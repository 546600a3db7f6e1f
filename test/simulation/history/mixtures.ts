/** What some histories have of their plan instead of what chance gives: what by chance alone would seldom meet. */
import type { Random } from "../world/random.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

const ONE_CLIENT: Partial<HistoryPlan> = {
  clientCount: 1,
  operationCount: 16,
  handlerMs: 10_000,
  executionTimeoutMs: 120_000,
  isPurging: false,
  isManaged: false,
};
/** Interruptible pods fill a host, and workers that come and go take the places of some. */
const CHEAP_PODS: Partial<HistoryPlan> = {
  ...ONE_CLIENT,
  clientCount: 3,
  operationCount: 6,
  hostGpus: [4],
  endpointGpus: [1],
  workersMax: 2,
  workersMin: 0,
  paceMs: 3_000,
  handlerMs: 2_000,
  idleTimeoutS: 1,
  scalerType: "REQUEST_COUNT",
  scalerValue: 1,
  hasPods: true,
  hasCheapPods: true,
  faults: new Map(),
};
export const MIXTURES: readonly Partial<HistoryPlan>[] = [
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
  CHEAP_PODS,
  { ...CHEAP_PODS, hostGpus: [5], endpointGpus: [2] },
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
  // Calls wait for the end of a long job, more of them than the endpoint takes at once.
  {
    ...ONE_CLIENT,
    operationCount: 4,
    hostGpus: [1],
    endpointGpus: [1],
    workersMax: 1,
    handlerMs: 60_000,
    hasPods: false,
    isCrowding: true,
    faults: new Map(),
  },
  // Versions change while workers are on standby.
  {
    ...ONE_CLIENT,
    hostGpus: [2],
    endpointGpus: [1],
    workersMax: 2,
    workersMin: 0,
    idleTimeoutS: 1,
    operationCount: 60,
    paceMs: 1_500,
    handlerMs: 200,
    hasPods: false,
    isManaged: true,
    hasFlashBoot: true,
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
  // Handlers fail after they have yielded, before clients that follow, run them again, or are those of OpenAI.
  {
    ...ONE_CLIENT,
    operationCount: 24,
    hostGpus: [1],
    endpointGpus: [1],
    workersMax: 1,
    paceMs: 300,
    handlerMs: 200,
    streaming: 1,
    isRetrying: true,
    hasOpenai: true,
    hasPods: false,
    faults: new Map<Fault, number>([["workerFails", 0.5]]),
  },
  // Handlers hang beyond their time on hosts that are cut off, and nobody reminds the object which has lost its memory.
  {
    ...ONE_CLIENT,
    hostGpus: [1],
    endpointGpus: [1],
    workersMax: 2,
    paceMs: 3_000,
    handlerMs: 2_000,
    executionTimeoutMs: 5_000,
    hasPods: false,
    faults: new Map<Fault, number>([
      ["workerHangs", 0.9],
      ["agentPartitioned", 8],
      ["objectEvicted", 24],
      ["objectCrashes", 24],
    ]),
  },
  // Workers come and go at a host whose syncs overtake each other.
  {
    ...ONE_CLIENT,
    operationCount: 32,
    hostGpus: [4],
    endpointGpus: [1, 1],
    workersMax: 2,
    workersMin: 0,
    idleTimeoutS: 1,
    paceMs: 1_500,
    handlerMs: 200,
    scalerType: "REQUEST_COUNT",
    scalerValue: 1,
    hasPods: false,
    faults: new Map<Fault, number>([["slowNetwork", 0.5]]),
  },
  // Endpoints whose workers idle for long share one GPU.
  {
    ...ONE_CLIENT,
    hostGpus: [1],
    endpointGpus: [1, 1],
    workersMax: 1,
    workersMin: 0,
    clientCount: 2,
    operationCount: 12,
    paceMs: 8_000,
    handlerMs: 1_000,
    idleTimeoutS: 60,
    scalerType: "REQUEST_COUNT",
    scalerValue: 1,
    hasPods: false,
    faults: new Map(),
  },
];

/** More jobs than workers can take: they wait, and some expire. */
export function congestion(random: Random): Partial<HistoryPlan> {
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

/** Agents crash while results that go to R2, and chunks, are on their way. */
export function withCrashes(plan: HistoryPlan): HistoryPlan {
  const faults = new Map([...plan.faults, ["agentKilled", 10] as const]);
  return { ...plan, large: 1, streaming: 0.8, handlerMs: 200, paceMs: 300, operationCount: 12, faults };
}
