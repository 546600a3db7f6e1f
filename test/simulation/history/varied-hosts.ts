/** Hosts that differ in what they have, and endpoints that ask for some of it in an order of preference. */
import { type GpuModel, type HostKind, RTX_4090 } from "../host/inventory.ts";
import type { Random } from "../world/random.ts";
import type { HistoryPlan } from "./plan.ts";

const MODELS: readonly GpuModel[] = [
  RTX_4090,
  { name: "NVIDIA L4", tier: "AMPERE_24", memoryMb: 23_034 },
  { name: "NVIDIA GeForce RTX 3090", tier: "AMPERE_24", memoryMb: 24_576 },
  { name: "NVIDIA A40", tier: "AMPERE_48", memoryMb: 46_068 },
];
const TIERS = [...new Set(MODELS.map(({ tier }) => String(tier)))];
/** Any of these GPUs. */
const ANY_GPU = TIERS.join(",");
/** Share of hosts that have GPUs of several models, and of endpoints that exclude one, where they can. */
const MIXED = 0.4;
const EXCLUDING = 0.5;
const SEVERAL_GPUS = 0.4;
/** Of GPUs with 24 GB and more; 0 for a worker that has its GPU to itself. */
const PARTS_GB: readonly number[] = [3, 5, 8, 12, 20, 0];
/** MB; a container of each endpoint finds room on each host that has no other. */
const DISKS: readonly number[] = [110_000, 250_000, 500_000];
const CONTAINER_DISKS_GB: readonly number[] = [5, 50, 100];

type Variety = Pick<
  HistoryPlan,
  "hostKinds" | "endpointGpus" | "endpointGpuIds" | "otherGpuIds" | "containerDiskGb"
>;

type Contest = Partial<HistoryPlan> & Pick<HistoryPlan, "hostGpus">;

/** Workers come and go, so that each finds other places free, on hosts that Fleet knows. */
export const CHURN: Contest = {
  hostGpus: [2, 1, 2],
  clientCount: 2,
  operationCount: 12,
  paceMs: 3_000,
  handlerMs: 2_000,
  idleTimeoutS: 1,
  workersMax: 3,
  workersMin: 0,
  scalerType: "REQUEST_COUNT",
  scalerValue: 1,
  hasPods: false,
  hasPodRequests: false,
  faults: new Map(),
};

/** Pods ask for more than the share of their GPUs, beside workers that want the rest. */
export const PODS_BESIDE: Contest = {
  hostGpus: [3, 2],
  clientCount: 3,
  operationCount: 6,
  paceMs: 300,
  handlerMs: 10_000,
  workersMax: 4,
  workersMin: 0,
  hasPods: true,
  faults: new Map(),
};

/** Each endpoint has a place on one host at least, when that is empty. */
export function varietyOf(random: Random, { hostGpus, endpointGpus }: HistoryPlan): Variety {
  const hostKinds = hostGpus.map((gpuCount) => chooseKind(random, gpuCount));
  const asked = endpointGpus.map(() => chooseGpus(random, random.pick(hostKinds), hostKinds));
  return {
    hostKinds,
    endpointGpus: asked.map(({ gpuCount }) => gpuCount),
    endpointGpuIds: asked.map(({ gpuIds }) => gpuIds),
    otherGpuIds: ANY_GPU,
    containerDiskGb: random.pick(CONTAINER_DISKS_GB),
  };
}

/** Workers of one GPU declare what they need of it, so that they share GPUs; some have theirs to themselves. */
export function packing(
  random: Random,
  { endpointGpus }: HistoryPlan,
): Pick<HistoryPlan, "endpointGpuMemoryGb" | "workersMax"> {
  return {
    endpointGpuMemoryGb: endpointGpus.map((gpuCount) => (gpuCount === 1 ? random.pick(PARTS_GB) : 0)),
    workersMax: random.whole(2, 6),
  };
}

function chooseKind(random: Random, gpuCount: number): HostKind {
  const model = random.pick(MODELS);
  const isMixed = random.chance(MIXED);
  const models = Array.from({ length: gpuCount }, () => (isMixed ? random.pick(MODELS) : model));
  return {
    models,
    cpuCount: random.pick([8, 15, 64]),
    memoryMb: random.pick([31_999, 128_000]),
    diskMb: random.pick(DISKS),
  };
}

/** GPUs that the host has, and others that would do as well, mostly of other hosts, in any order. */
function chooseGpus(
  random: Random,
  { models }: HostKind,
  hostKinds: readonly HostKind[],
): { readonly gpuCount: number; readonly gpuIds: string } {
  const { tier } = random.pick(models);
  const ofTier = models.filter((model) => model.tier === tier);
  const spared = random.pick(ofTier);
  const excluded = MODELS.filter((model) => model.tier === tier && model.name !== spared.name);
  const names = random.chance(EXCLUDING) ? excluded.map(({ name }) => `-${name}`) : [];
  const left = names.length > 0 ? ofTier.filter(({ name }) => name === spared.name) : ofTier;
  const gpuCount = random.chance(SEVERAL_GPUS) ? random.whole(1, left.length) : 1;
  const present = new Set(hostKinds.flatMap((kind) => kind.models.map((model) => String(model.tier))));
  const others = TIERS.filter((other) => other !== tier && random.chance(present.has(other) ? 0.8 : 0.3));
  const tiers = random.shuffled([tier, ...others]);
  return { gpuCount, gpuIds: [...tiers, ...names].join(",") };
}
