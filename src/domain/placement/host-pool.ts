/**
 * Which host runs a new worker. One pool holds the present hosts of one account.
 *
 * P1  The first resource request in the order of preference that fits any host is taken.
 * P2  A worker of one GPU or none goes to the fitting host with most free: losing a host then costs little. A worker
 *     of several GPUs goes where fewest are left over, so that the next large one finds a place. One that shares a GPU
 *     goes where least of its memory is left over (gpu-memory.ts).
 * P3  A worker without GPUs goes to a host with GPUs only if it fits no other.
 * P4  Standby workers take no capacity; a worker goes where it evicts none, if there is such a place.
 * P5  Of those it goes where most of what it needs is stored: its image first, then files and models. P2 decides among
 *     equals. Of the hosts that have only a part of it, 16 places are compared.
 */
import type { QueueReason } from "../../contract/job.ts";
import { type HostClass, HostContents } from "./host-contents.ts";
import { HostCapacity, type CandidateHost, type Size, type Allocation } from "./host-capacity.ts";
import { resourceRequests, fitOf, type ResourceRequest, type Requirement } from "./host-fit.ts";

export type PlacementFailure = { readonly reason: QueueReason; readonly detail: string };

export type Place = {
  readonly hostId: string;
  readonly gpuIndexes: readonly number[];
  readonly size: Size;
};

type Found = Omit<Place, "hostId"> & { readonly capacity: HostCapacity };

export class HostPool {
  readonly #hosts = new Map<string, HostCapacity>();
  /** By tier, or by kind of host for workers without GPUs. */
  readonly #indexes = new Map<string, CapacityIndex>();
  /** Where each host is in the indexes. */
  readonly #positions = new Map<HostCapacity, readonly (readonly [key: string, count: number])[]>();
  /** What the hosts have of what workers need. */
  readonly contents = new HostContents();
  #generation = 0;

  /** Grows when a host is added, removed or changed; not when workers are. */
  get generation(): number {
    return this.#generation;
  }

  get hosts(): readonly HostCapacity[] {
    return [...this.#hosts.values()];
  }

  /** Adds a host, or replaces it. */
  upsert(host: CandidateHost, workers: readonly Allocation[]): void {
    const current = this.#hosts.get(host.hostId);
    if (!current || !isSameHost(current.host, host)) this.#generation += 1;
    if (current) this.#removeFromIndexes(current);
    const capacity = new HostCapacity(host, workers);
    this.#hosts.set(host.hostId, capacity);
    this.#addToIndexes(capacity);
  }

  remove(hostId: string): void {
    const capacity = this.#hosts.get(hostId);
    if (!capacity) return;
    this.#generation += 1;
    this.#removeFromIndexes(capacity);
    this.#hosts.delete(hostId);
  }

  /**
   * Allocates a worker on one of the hosts, if it fits any. An endpoint that fitted none needs to try only hosts that
   * have changed since (`among`). `except`: hosts to leave out.
   */
  allocate(
    requirement: Requirement,
    among?: ReadonlySet<string>,
    except?: ReadonlySet<string>,
  ): Place | undefined {
    const found = this.#find(requirement, among, except);
    return found && this.#allocate(found);
  }

  /** Whether such a worker fits one of the hosts now. */
  fits(requirement: Requirement, except?: ReadonlySet<string>): boolean {
    return this.#find(requirement, undefined, except) !== undefined;
  }

  /** Allocates the capacity that a standby worker had before, if it is still free. */
  reclaim({ hostId, gpuIndexes, size }: Place): boolean {
    const capacity = this.#hosts.get(hostId);
    if (!capacity?.canReclaim(gpuIndexes, size)) return false;
    this.#allocate({ capacity, gpuIndexes, size });
    return true;
  }

  capacityOf(hostId: string): HostCapacity | undefined {
    return this.#hosts.get(hostId);
  }

  #find(
    requirement: Requirement,
    among?: ReadonlySet<string>,
    except?: ReadonlySet<string>,
  ): Found | undefined {
    const hostId = requirement.pod?.hostId ?? null;
    const named = hostId === null ? among : new Set([hostId]);
    const needed = requirement.contents ?? [];
    const classes = this.contents.classesFor(needed);
    const lackOn = (id: string) => (classes.length === 0 ? 0 : this.contents.lackOn(id, needed));
    for (const request of resourceRequests(requirement)) {
      let evicting: Found | undefined;
      for (const isIn of classes.length === 0 ? ANY_HOST : classes) {
        const best = new BestPlace(lackOn);
        for (const capacity of named ? this.#named(named) : this.#candidates(requirement, request)) {
          const { hostId: id } = capacity.host;
          if (!isIn(id) || except?.has(id)) continue;
          const fit = fitOf(capacity, requirement, request);
          if (fit.kind !== "misfit" && best.take({ capacity, ...fit })) break;
        }
        if (best.found) return best.found;
        evicting ??= best.evicting;
      }
      if (evicting) return evicting;
    }
    return undefined;
  }

  #allocate({ capacity, gpuIndexes, size }: Found): Place {
    this.#removeFromIndexes(capacity);
    capacity.allocate(gpuIndexes, size);
    this.#addToIndexes(capacity);
    return { hostId: capacity.host.hostId, gpuIndexes, size };
  }

  *#named(hostIds: ReadonlySet<string>): Generator<HostCapacity> {
    for (const hostId of hostIds) {
      const capacity = this.#hosts.get(hostId);
      if (capacity && !capacity.host.isCordoned && !capacity.host.isDrained) yield capacity;
    }
  }

  *#candidates(requirement: Requirement, request: ResourceRequest): Generator<HostCapacity> {
    if (request.kind === "cpu") {
      const vcpus = Math.floor(request.cpuMilli / 1_000);
      for (const key of [WITHOUT_GPUS, WITH_GPUS]) yield* this.#indexFor(key).from(vcpus, "most free");
      return;
    }
    if (request.gpuMemoryMb !== undefined) {
      const key = memoryKey(request.tier);
      yield* new Set(this.#indexFor(key).from(request.gpuMemoryMb, "least free"));
      return;
    }
    const { gpuCount } = requirement;
    yield* this.#indexFor(request.tier).from(gpuCount, gpuCount > 1 ? "least free" : "most free");
  }

  #addToIndexes(capacity: HostCapacity): void {
    const positions = positionsOf(capacity);
    for (const [key, count] of positions) this.#indexFor(key).add(count, capacity);
    this.#positions.set(capacity, positions);
  }

  #removeFromIndexes(capacity: HostCapacity): void {
    for (const [key, count] of this.#positions.get(capacity) ?? [])
      this.#indexFor(key).remove(count, capacity);
    this.#positions.delete(capacity);
  }

  #indexFor(key: string): CapacityIndex {
    const current = this.#indexes.get(key);
    if (current) return current;
    const index = new CapacityIndex();
    this.#indexes.set(key, index);
    return index;
  }
}

const ANY_HOST: readonly HostClass[] = [() => true];

/** So many places of a class of hosts are compared. */
const COMPARED_MAX = 16;

/** The best place within a class of hosts (P4, P5). */
class BestPlace {
  readonly #lackOn: (hostId: string) => number;
  #found: Found | undefined;
  #lack = Number.POSITIVE_INFINITY;
  #compared = 0;
  /** The first place that evicts a standby worker. */
  evicting: Found | undefined;

  constructor(lackOn: (hostId: string) => number) {
    this.#lackOn = lackOn;
  }

  /** The one where least is missing, of those that evict none. */
  get found(): Found | undefined {
    return this.#found;
  }

  /** Whether no other place need be looked at. */
  take(place: Found): boolean {
    if (place.capacity.wouldEvict(place.gpuIndexes, place.size)) {
      this.evicting ??= place;
      return false;
    }
    const lack = this.#lackOn(place.capacity.host.hostId);
    if (lack < this.#lack) [this.#found, this.#lack] = [place, lack];
    this.#compared += 1;
    return this.#lack === 0 || this.#compared >= COMPARED_MAX;
  }
}

/** Where on this host such a worker fits, in the first way that does. */
export function findPlaceOn(capacity: HostCapacity, requirement: Requirement): Place | undefined {
  for (const request of resourceRequests(requirement)) {
    const fit = fitOf(capacity, requirement, request);
    if (fit.kind === "fits") {
      return { hostId: capacity.host.hostId, gpuIndexes: fit.gpuIndexes, size: fit.size };
    }
  }
  return undefined;
}

/** Where GPUs of the tier are by their free memory. */
function memoryKey(tier: string): string {
  return `memory of ${tier}`;
}

const WITHOUT_GPUS = "without GPUs";
const WITH_GPUS = "with GPUs";

/** The list of GPUs is another one when anything of an inventory but free disk has changed. */
function isSameHost(a: CandidateHost, b: CandidateHost): boolean {
  return a.gpus === b.gpus && a.isCordoned === b.isCordoned && a.isDrained === b.isDrained;
}

/** A host that takes no new workers is in no index. */
function positionsOf(capacity: HostCapacity): readonly (readonly [string, number])[] {
  const { gpus, isCordoned, isDrained } = capacity.host;
  if (isCordoned || isDrained) return [];
  const free = new Map<string, number>();
  const memories = new Map<string, readonly [string, number]>();
  for (const gpu of gpus) {
    if (gpu.tier === null) continue;
    const memoryMb = capacity.freeGpuMemoryOf(gpu);
    if (memoryMb > 0) memories.set(`${gpu.tier} ${memoryMb}`, [memoryKey(gpu.tier), memoryMb]);
    if (capacity.isFree(gpu) && gpu.migUuid === undefined) free.set(gpu.tier, (free.get(gpu.tier) ?? 0) + 1);
  }
  const vcpus = Math.floor(capacity.free.cpuMilli / 1_000);
  return [...free, ...memories.values(), [gpus.length === 0 ? WITHOUT_GPUS : WITH_GPUS, vcpus]];
}

/** Hosts by how many of something they have free, so that the fullest or emptiest that suffices is found at once. */

export class CapacityIndex {
  readonly #byCount = new Map<number, Set<HostCapacity>>();

  add(count: number, capacity: HostCapacity): void {
    const same = this.#byCount.get(count);
    if (same) same.add(capacity);
    else this.#byCount.set(count, new Set([capacity]));
  }

  remove(count: number, capacity: HostCapacity): void {
    const same = this.#byCount.get(count);
    same?.delete(capacity);
    if (same?.size === 0) this.#byCount.delete(count);
  }

  /** Hosts with at least this many free, in the order; among equals, the longest unchanged first. */
  *from(least: number, order: "most free" | "least free"): Generator<HostCapacity> {
    const counts = [...this.#byCount.keys()].filter((count) => count >= least);
    counts.sort(order === "most free" ? (a, b) => b - a : (a, b) => a - b);
    for (const count of counts) yield* this.#byCount.get(count) ?? [];
  }
}
