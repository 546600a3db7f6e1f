/** The rolling release that is under way: since when, what it waits for, and whether it may make room. */
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { ReleaseBody } from "../contract/job.ts";
import { RELEASE_HOLD_MS, RELEASE_ROOM_AGAIN_MS } from "../contract/limits.ts";
import type { FleetReport } from "../domain/queue-reason.ts";
import { planRoll, type RollMember, type RollPlan } from "../domain/release.ts";
import { describeRoll, obstacleOf } from "../domain/roll-progress.ts";
import type { JobStore } from "./job-store.ts";

type RollFact = {
  readonly since: number;
  /** Older workers that are idle get no jobs until then (R4). */
  readonly heldUntil: number;
  /** When more new workers than before were ready, and how many. */
  readonly progressAt: number;
  readonly ready: number;
  readonly stalledSince: number | null;
  /** When room was last made, and how many new workers there were. */
  readonly room: { readonly at: number; readonly placed: number } | null;
};

export type RollSample = {
  readonly workers: readonly RollMember[];
  readonly report: FleetReport;
  readonly wanted: number;
  /** A worker that was sent away is still there. */
  readonly isRoomComing: boolean;
};

const UNKNOWN: RollFact = { since: 0, heldUntil: 0, progressAt: 0, ready: 0, stalledSince: null, room: null };

export class Rollout {
  readonly #store: JobStore;
  #fact: RollFact = UNKNOWN;

  constructor(store: JobStore) {
    this.#store = store;
  }

  recover(): void {
    this.#fact = { ...UNKNOWN, ...this.#store.readFact<RollFact>("release") };
  }

  /** The endpoint has a new release; `isQuiet`: it has no job. */
  begin(isQuiet: boolean, now: number): void {
    const heldUntil = isQuiet ? now + RELEASE_HOLD_MS : 0;
    this.#save({ ...UNKNOWN, since: now, progressAt: now, heldUntil });
  }

  /** Decides anew, to be asked while there are older workers; also when to ask again though nothing happens. */
  step(
    { workers, report, wanted, isRoomComing }: RollSample,
    { version, workersMax }: EndpointConfig,
    now: number,
  ): RollPlan & { readonly reviewAt: number | null } {
    const newer = workers.filter((worker) => worker.version >= version);
    this.#noteProgress(newer, obstacleOf(report, version), now);
    const { heldUntil, stalledSince, room } = this.#fact;
    const roomAgainAt = room && newer.length <= room.placed ? room.at + RELEASE_ROOM_AGAIN_MS : 0;
    const isHeld = now < heldUntil && stalledSince === null;
    const plan = planRoll({
      workers,
      version,
      wanted,
      workersMax,
      roomBy: report.rollShortage?.roomBy ?? [],
      canMakeRoom: !isRoomComing && now >= roomAgainAt,
      isHeld,
    });
    if (plan.makesRoom) this.#save({ ...this.#fact, room: { at: now, placed: newer.length } });
    const dues = [isHeld ? heldUntil : 0, now < roomAgainAt ? roomAgainAt : 0].filter((at) => at > 0);
    return { ...plan, reviewAt: dues.length > 0 ? Math.min(...dues) : null };
  }

  /** Null while all workers are of the endpoint's release. */
  describe(report: FleetReport, version: number, now: number): ReleaseBody | null {
    return describeRoll(report, version, this.#fact, now);
  }

  #noteProgress(newer: readonly RollMember[], obstacle: string | undefined, now: number): void {
    const ready = newer.filter(({ isReady }) => isReady).length;
    const { stalledSince } = this.#fact;
    const stalled = obstacle === undefined ? null : (stalledSince ?? now);
    if (stalled === stalledSince && ready <= this.#fact.ready) return;
    const progress = ready > this.#fact.ready ? { ready, progressAt: now } : {};
    this.#save({ ...this.#fact, ...progress, stalledSince: stalled });
  }

  #save(fact: RollFact): void {
    this.#fact = fact;
    this.#store.writeFact("release", fact);
  }
}
