/**
 * Which host runs a new worker. One pool holds the hosts of one account that are there.
 *
 * P1  The first way in the order of preference for which any host has room is taken.
 * P2  Of hosts with room, a worker of one GPU or none goes where most is free: losing a host then costs little.
 *     A worker of several GPUs goes where fewest are left over, so that the next large one finds room.
 * P3  A worker without GPUs goes to a host with GPUs only if none without has room.
 * P4  Standby workers take no room; a worker goes where none of them is in its way, if there is such a place.
 */
import type { QueueReason } from "../contract/job.ts";
import { HostRoom, type CandidateHost, type Size, type TakenRoom } from "./host-room.ts";
import { asksOf, fitOf, type Ask, type Requirement } from "./misfit.ts";
import { RoomShelf } from "./room-shelf.ts";

export type Shortage = { readonly reason: QueueReason; readonly detail: string };

export type Place = {
  readonly hostId: string;
  readonly gpuIndexes: readonly number[];
  readonly size: Size;
};

type Found = Omit<Place, "hostId"> & { readonly room: HostRoom };

export class HostPool {
  readonly #rooms = new Map<string, HostRoom>();
  /** By tier, or by kind of host for workers without GPUs. */
  readonly #shelves = new Map<string, RoomShelf>();
  /** Where each host stands on the shelves. */
  readonly #positions = new Map<HostRoom, readonly (readonly [key: string, count: number])[]>();
  #epoch = 0;

  /** Grows when a host comes, goes or is another than before; not when workers come and go. */
  get epoch(): number {
    return this.#epoch;
  }

  get rooms(): readonly HostRoom[] {
    return [...this.#rooms.values()];
  }

  /** Adds a host, or replaces what was known of it. */
  put(host: CandidateHost, workers: readonly TakenRoom[]): void {
    const known = this.#rooms.get(host.hostId);
    if (!known || !isSameHost(known.host, host)) this.#epoch += 1;
    if (known) this.#unshelve(known);
    const room = new HostRoom(host, workers);
    this.#rooms.set(host.hostId, room);
    this.#shelve(room);
  }

  drop(hostId: string): void {
    const room = this.#rooms.get(hostId);
    if (!room) return;
    this.#epoch += 1;
    this.#unshelve(room);
    this.#rooms.delete(hostId);
  }

  /**
   * Takes room for a worker on one of the hosts, if there is any. An endpoint for which none had room needs to
   * look only at those that have changed since. `except`: hosts that are not asked.
   */
  take(wanted: Requirement, among?: ReadonlySet<string>, except?: ReadonlySet<string>): Place | undefined {
    for (const ask of asksOf(wanted)) {
      let second: Found | undefined;
      for (const room of among ? this.#named(among) : this.#candidates(wanted, ask)) {
        if (except?.has(room.host.hostId)) continue;
        const fit = fitOf(room, wanted, ask);
        if (fit.kind === "misfit") continue;
        if (!room.wouldUnsettle(fit.gpuIndexes)) return this.#take({ room, ...fit });
        second ??= { room, ...fit };
      }
      if (second) return this.#take(second);
    }
    return undefined;
  }

  /** Takes the room that a worker had before, if it is still there. */
  retake({ hostId, gpuIndexes, size }: Place): boolean {
    const room = this.#rooms.get(hostId);
    if (!room?.hasRoomAgain(gpuIndexes, size)) return false;
    this.#take({ room, gpuIndexes, size });
    return true;
  }

  roomOf(hostId: string): HostRoom | undefined {
    return this.#rooms.get(hostId);
  }

  #take({ room, gpuIndexes, size }: Found): Place {
    this.#unshelve(room);
    room.take(gpuIndexes, size);
    this.#shelve(room);
    return { hostId: room.host.hostId, gpuIndexes, size };
  }

  *#named(hostIds: ReadonlySet<string>): Generator<HostRoom> {
    for (const hostId of hostIds) {
      const room = this.#rooms.get(hostId);
      if (room && !room.host.isCordoned && !room.host.isDrained) yield room;
    }
  }

  *#candidates(wanted: Requirement, ask: Ask): Generator<HostRoom> {
    if (ask.kind === "cpu") {
      const vcpus = Math.floor(ask.cpuMilli / 1_000);
      for (const key of [WITHOUT_GPUS, WITH_GPUS]) yield* this.#shelf(key).from(vcpus, "most free");
      return;
    }
    const { gpuCount } = wanted;
    yield* this.#shelf(ask.tier).from(gpuCount, gpuCount > 1 ? "least free" : "most free");
  }

  #shelve(room: HostRoom): void {
    const positions = positionsOf(room);
    for (const [key, count] of positions) this.#shelf(key).add(count, room);
    this.#positions.set(room, positions);
  }

  #unshelve(room: HostRoom): void {
    for (const [key, count] of this.#positions.get(room) ?? []) this.#shelf(key).remove(count, room);
    this.#positions.delete(room);
  }

  #shelf(key: string): RoomShelf {
    const known = this.#shelves.get(key);
    if (known) return known;
    const shelf = new RoomShelf();
    this.#shelves.set(key, shelf);
    return shelf;
  }
}

const WITHOUT_GPUS = "without GPUs";
const WITH_GPUS = "with GPUs";

/** The list of GPUs is another one when anything of an inventory but free disk has changed. */
function isSameHost(a: CandidateHost, b: CandidateHost): boolean {
  return a.gpus === b.gpus && a.isCordoned === b.isCordoned && a.isDrained === b.isDrained;
}

/** A host that takes no new workers stands on no shelf. */
function positionsOf(room: HostRoom): readonly (readonly [string, number])[] {
  const { gpus, isCordoned, isDrained } = room.host;
  if (isCordoned || isDrained) return [];
  const free = new Map<string, number>();
  for (const gpu of gpus) {
    if (gpu.tier !== null && room.isFree(gpu)) free.set(gpu.tier, (free.get(gpu.tier) ?? 0) + 1);
  }
  const vcpus = Math.floor(room.free.cpuMilli / 1_000);
  return [...free, [gpus.length === 0 ? WITHOUT_GPUS : WITH_GPUS, vcpus]];
}
