/** What present hosts have free, as the catalog shows it. */
import type { Gpu } from "../../contract/agent/agent.ts";
import type { GpuCard } from "../../catalog/gpu-cards.ts";
import { findDataCenter, resolveDataCenter } from "../../catalog/data-centers.ts";
import { compareCudaVersions } from "./cuda-version.ts";

/** Numbers of hosts that could take one more such worker from which the stock is called Medium, and High. */
const STOCK_MEDIUM_FROM = 2;
const STOCK_HIGH_FROM = 8;

/** GPUs of one model on one host. */
export type GpuStock = {
  readonly model: string;
  readonly tier: string | null;
  /** They stand for cards that the host does not have. */
  readonly isSimulated: boolean;
  readonly total: number;
  readonly free: number;
};

/** One present host, without its owner. */
export type HostStock = {
  readonly dataCenterId: string;
  readonly cpuCount: number;
  readonly memoryMb: number;
  /** The version that its driver supports; null where it has not reported one. */
  readonly cudaVersion: string | null;
  /** Pods of a cluster reach each other on it. */
  readonly canJoinClusters: boolean;
  readonly gpus: readonly GpuStock[];
};

export type StockStatus = "High" | "Medium" | "Low" | null;

/** What hosts can be used for: every host for all of them, but for clusters only where their pods reach each other. */
export const PRODUCTS = ["POD", "CLUSTER", "SERVERLESS"] as const;
export type Product = (typeof PRODUCTS)[number];
/** Whose hosts they are: those of accounts of this installation are all SECURE. */
export const CLOUDS = ["SECURE", "COMMUNITY"] as const;
export type Cloud = (typeof CLOUDS)[number];

const OFFERED_CLOUD: Cloud = "SECURE";

/** Which hosts a caller asks about; absent members do not narrow them. */
export type HostQuestion = {
  /** Any of them. */
  readonly products?: readonly Product[] | undefined;
  readonly cloud?: Cloud | undefined;
  readonly dataCenterId?: string | undefined;
  readonly countryCodes?: readonly string[] | undefined;
  /** Any of them; hosts that have not reported their version are left out. */
  readonly cudaVersions?: readonly string[] | undefined;
  readonly minCudaVersion?: string | undefined;
};

/** What a caller wants to know the stock for. */
export type StockQuestion = HostQuestion & {
  readonly gpuCount: number;
  readonly minVcpuCount?: number | undefined;
  readonly minMemoryGb?: number | undefined;
};

export type GpuOffer = {
  readonly status: StockStatus;
  readonly total: number;
  readonly free: number;
  /** Most GPUs of the model on one host: all of them, and free ones. */
  readonly largestTotal: number;
  readonly largestFree: number;
  /** The smallest share of a host that comes with the requested GPUs; null when nothing is in stock. */
  readonly minVcpuCount: number | null;
  readonly minMemoryGb: number | null;
  /** Where it is in stock. */
  readonly dataCenterIds: readonly string[];
};

type Place = { readonly host: HostStock; readonly gpus: GpuStock };

const MEGABYTES_PER_GB = 1_000;

/** Counts what a host has of each model. */
export function stockOfHost(
  inventory: {
    readonly gpus: readonly Gpu[];
    readonly cpuCount: number;
    readonly memoryMb: number;
    readonly dataCenterId?: string | undefined;
    readonly cudaVersion?: string | undefined;
    readonly canJoinClusters?: boolean | undefined;
  },
  takenGpus: ReadonlySet<number>,
): HostStock {
  const models = Map.groupBy(inventory.gpus, ({ name, tier, isSimulated }) =>
    JSON.stringify([name, tier, isSimulated]),
  );
  const gpus = [...models.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const free = same.filter(({ index }) => !takenGpus.has(index)).length;
    const { name: model, tier, isSimulated } = first;
    return [{ model, tier, isSimulated, total: same.length, free }];
  });
  const { cpuCount, memoryMb, cudaVersion = null, canJoinClusters = false } = inventory;
  const dataCenterId = resolveDataCenter(inventory.dataCenterId);
  return { dataCenterId, cpuCount, memoryMb, cudaVersion, canJoinClusters, gpus };
}

/** What the hosts offer of one card. */
export function offerOf(card: GpuCard, hosts: readonly HostStock[], question: StockQuestion): GpuOffer {
  const places = hosts
    .filter((host) => isMeant(host, question))
    .flatMap((host) => host.gpus.filter((gpus) => isCard(gpus, card)).map((gpus): Place => ({ host, gpus })));
  const fitting = places.filter((place) => fits(place, question));
  const available = sum(fitting.map(({ gpus }) => Math.floor(gpus.free / question.gpuCount)));
  return {
    status: statusOf(available),
    total: sum(places.map(({ gpus }) => gpus.total)),
    free: sum(places.map(({ gpus }) => gpus.free)),
    largestTotal: Math.max(0, ...places.map(({ gpus }) => gpus.total)),
    largestFree: Math.max(0, ...places.map(({ gpus }) => gpus.free)),
    minVcpuCount: smallest(fitting.map((place) => vcpuShare(place, question.gpuCount))),
    minMemoryGb: smallest(fitting.map((place) => memoryShare(place, question.gpuCount))),
    dataCenterIds: [...new Set(fitting.map(({ host }) => host.dataCenterId))].toSorted(),
  };
}

/** Data centers in which hosts for clusters have the card, free or not. */
export function clusterPlacesOf(card: GpuCard, hosts: readonly HostStock[]): readonly string[] {
  const able = hosts.filter((host) => host.canJoinClusters && host.gpus.some((gpus) => isCard(gpus, card)));
  return [...new Set(able.map(({ dataCenterId }) => dataCenterId))].toSorted();
}

/** Versions of CUDA that hosts with the card have, the oldest first, and whether the card is in stock with each. */
export function cudaStockOf(
  card: GpuCard,
  hosts: readonly HostStock[],
  question: StockQuestion,
): readonly { readonly version: string; readonly isAvailable: boolean }[] {
  const having = hosts.filter(
    (host) => isMeant(host, question) && host.gpus.some(({ model }) => model === card.id),
  );
  const versions = new Set(having.flatMap(({ cudaVersion }) => cudaVersion ?? []));
  return [...versions].toSorted(compareCudaVersions).map((version) => {
    const { status } = offerOf(card, having, { ...question, cudaVersions: [version] });
    return { version, isAvailable: status !== null };
  });
}

/** Whether hosts of this size are there for an instance without GPUs. */
export function cpuStatus(
  hosts: readonly HostStock[],
  size: { readonly vcpus: number; readonly memoryGb: number },
  question: HostQuestion,
): StockStatus {
  const available = hosts
    .filter((host) => isMeant(host, question))
    .map((host) =>
      Math.floor(Math.min(host.cpuCount / size.vcpus, host.memoryMb / MEGABYTES_PER_GB / size.memoryGb)),
    );
  return statusOf(sum(available));
}

function statusOf(available: number): StockStatus {
  if (available >= STOCK_HIGH_FROM) return "High";
  if (available >= STOCK_MEDIUM_FROM) return "Medium";
  return available > 0 ? "Low" : null;
}

function isMeant(host: HostStock, question: HostQuestion): boolean {
  const { products, cloud = OFFERED_CLOUD, dataCenterId = host.dataCenterId, countryCodes } = question;
  if (cloud !== OFFERED_CLOUD || dataCenterId !== host.dataCenterId) return false;
  if (products && !products.some((product) => serves(host, product))) return false;
  const country = findDataCenter(host.dataCenterId)?.countryCode ?? "";
  return (countryCodes?.includes(country) ?? true) && hasCuda(host, question);
}

function serves({ canJoinClusters }: HostStock, product: Product): boolean {
  return product !== "CLUSTER" || canJoinClusters;
}

function hasCuda({ cudaVersion }: HostStock, { cudaVersions, minCudaVersion }: HostQuestion): boolean {
  if (cudaVersions && (cudaVersion === null || !cudaVersions.includes(cudaVersion))) return false;
  if (minCudaVersion === undefined) return true;
  return cudaVersion !== null && compareCudaVersions(cudaVersion, minCudaVersion) >= 0;
}

/** A GPU that cannot be given away as a whole has no tier, and is no stock of a card that has one. */
function isCard(gpus: GpuStock, card: GpuCard): boolean {
  return gpus.model === card.id && gpus.tier === card.tier;
}

function fits(place: Place, { gpuCount, minVcpuCount = 0, minMemoryGb = 0 }: StockQuestion): boolean {
  return (
    place.gpus.free >= gpuCount &&
    vcpuShare(place, gpuCount) >= minVcpuCount &&
    memoryShare(place, gpuCount) >= minMemoryGb
  );
}

function vcpuShare(place: Place, gpuCount: number): number {
  return Math.max(1, Math.floor(place.host.cpuCount * shareOf(place, gpuCount)));
}

function memoryShare(place: Place, gpuCount: number): number {
  return Math.max(1, Math.floor((place.host.memoryMb / MEGABYTES_PER_GB) * shareOf(place, gpuCount)));
}

function shareOf({ host }: Place, gpuCount: number): number {
  return gpuCount / sum(host.gpus.map(({ total }) => total));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function smallest(numbers: readonly number[]): number | null {
  return numbers.length === 0 ? null : Math.min(...numbers);
}
