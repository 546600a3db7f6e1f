/**
 * What the endpoint did, by minutes and hours, in memory and on the way to its rows.
 *
 * B1  Nothing is written for a job. What is not in rows yet is in the checkpoint of the ledger, and the ledger reports
 *     each job that ended after a checkpoint again after a loss of memory: counts and times are always exact.
 * B2  Gauges are in the checkpoint too, and the ledger finds how jobs have changed them since. Of workers, a loss of
 *     memory loses what changed within ACTIVITY_CHECKPOINT_MS of a checkpoint, since later changes are written in
 *     their own turn. They are then assumed to have been those of the moment when the object wakes.
 * B3  Minutes of one page become a row when the page is over, and hours are made of them.
 * B4  Load-balanced requests leave no rows. They are written in the first turn ACTIVITY_CHECKPOINT_MS after the first
 *     of them, or when the request tracker reports that they are quiet. An object that dies loses what was not written;
 *     one that hibernates has written all.
 */
import { isFinal, type FinalState, type StoredJob } from "../../domain/jobs/job-machine.ts";
import { ACTIVITY_PAGE_MS, ACTIVITY_PAGES_RETAINED, type ActivityStore } from "./activity-store.ts";
import type { ActivityCheckpoint } from "../queue/queue-ledger.ts";
import { Activity, spansOf, type ActivitySegment } from "../../domain/metrics/activity.ts";
import { gaugesOfJobs, type JobSpan } from "../../domain/metrics/job-gauges.ts";
import { isSameGauges, isSameWorkers, ZERO_GAUGES, type Gauges } from "../../domain/metrics/gauges.ts";
import type { EndTimes } from "../../domain/metrics/activity.ts";
import type { ColdStart } from "../../domain/jobs/cold-start.ts";
import { coldStartOfJob } from "../../domain/jobs/timeline.ts";

/** Changes of workers are written at most this often, unless a checkpoint is written anyway. */
export const ACTIVITY_CHECKPOINT_MS = 60_000;

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

/**
 * How a request ended; times are epoch ms.
 * completed: the worker's answer went through to its end, whatever its status; a WebSocket was closed.
 * failed: the worker or its host refused it or broke off, or a body was too large.
 * timed_out: no worker came, or the worker did not answer, in time. cancelled: the client is gone.
 */
export type RequestEnd = {
  readonly outcome: FinalState;
  readonly receivedAt: number;
  /** When a worker got it; null when none did. */
  readonly startedAt: number | null;
  readonly endedAt: number;
};

export class ActivityCounters {
  readonly #store: ActivityStore;
  readonly #minutes = new Map<number, Activity>();
  #total = Activity.begin(0, ZERO_GAUGES);
  #gauges: Gauges = ZERO_GAUGES;
  #foldedUntil = 0;
  #checkpointedAt = 0;
  /** The workers differ from those in the checkpoint. */
  #hasNewWorkers = false;
  /** Jobs since the checkpoint, until the gauges of the present are known. */
  #found: JobSpan[] = [];
  /** Counts of this turn, until its time is known. */
  #pending = { requests: 0, retried: 0, expired: 0, cancelled: 0 };
  /** Load-balanced requests of this turn, begun or ended. */
  #requests = 0;
  /** When the first of them happened that is in no checkpoint; null while every one is in a checkpoint. */
  #unwrittenSince: number | null = null;
  /** When they are quiet, and a checkpoint is due; null while they keep the object awake. */
  #quietAt: number | null = null;

  constructor(store: ActivityStore) {
    this.#store = store;
  }

  recover(checkpoint: ActivityCheckpoint | undefined): void {
    if (!checkpoint) return;
    for (const minute of checkpoint.minutes) this.#minutes.set(minute.from, Activity.from(minute));
    this.#total = Activity.from(checkpoint.total);
    this.#gauges = checkpoint.levels;
    this.#foldedUntil = checkpoint.foldedUntil;
    this.#checkpointedAt = checkpoint.at;
  }

  /** A job that was queued or ran after the checkpoint. */
  found({ queuedAt, startedAt, finishedAt, workerId, count = 1 }: JobSpan): void {
    this.#found.push({ queuedAt, startedAt, finishedAt, workerId, count }); // a job is large
  }

  /** Takes over the gauges of the moment when the object wakes (B2). */
  resume(present: Gauges, now: number): void {
    const first = this.#found.reduce((earliest, { queuedAt }) => Math.min(earliest, queuedAt), now);
    const since = this.#checkpointedAt === 0 ? first : this.#checkpointedAt;
    for (const { at, gauges } of gaugesOfJobs(this.#found, present, since)) this.#setGauges(gauges, at);
    this.#found = [];
  }

  // Counting

  submitted(count: number): void {
    this.#pending.requests += count;
  }

  /** Jobs that were submitted after the checkpoint. */
  submittedAt(at: number, count: number): void {
    this.#count(at).requests += count;
    this.#total.counts.requests += count;
  }

  retried(count: number): void {
    this.#pending.retried += count;
  }

  expired(): void {
    this.#pending.expired += 1;
  }

  /** Jobs were cancelled without being read. */
  purged(count: number): void {
    this.#pending.cancelled += count;
  }

  ended(job: StoredJob): void {
    const { state, queuedAt, startedAt, finishedAt } = job;
    if (!isFinal(state) || finishedAt === null) return;
    const times = {
      delay: startedAt === null ? null : startedAt - queuedAt,
      execution: startedAt === null ? null : finishedAt - startedAt,
    };
    this.#record(state, times, startedAt === null ? null : coldStartOfJob(job), finishedAt);
  }

  /** A load-balanced request goes to a worker, or has ended without one. */
  requested(): void {
    this.#pending.requests += 1;
    this.#requests += 1;
  }

  /** Such a request has ended. */
  answered({ outcome, receivedAt, startedAt, endedAt }: RequestEnd, coldStart: ColdStart | null): void {
    const times = {
      delay: startedAt === null ? null : startedAt - receivedAt,
      execution: startedAt === null ? null : endedAt - startedAt,
    };
    this.#record(outcome, times, coldStart, endedAt);
    this.#requests += 1;
  }

  #record(state: FinalState, times: EndTimes, coldStart: ColdStart | null, at: number): void {
    for (const activity of [this.#minuteOf(at), this.#total]) activity.recordEnd(state, times, coldStart);
  }

  /**
   * To be called at the end of each turn: what was counted in it happened now, and these gauges hold from now on.
   * `quietAt`: when load-balanced requests are quiet; null while they keep the object awake.
   */
  endTurn(levels: Gauges, now: number, quietAt: number | null): void {
    this.#takePending(now);
    if (this.#requests > 0) this.#unwrittenSince ??= now;
    this.#requests = 0;
    this.#quietAt = quietAt;
    this.#hasNewWorkers ||= !isSameWorkers(levels, this.#gauges);
    if (!isSameGauges(levels, this.#gauges)) this.#setGauges(levels, now);
  }

  #takePending(now: number): void {
    const { requests, retried, expired, cancelled } = this.#pending;
    if (requests + retried + expired + cancelled === 0) return;
    for (const counts of [this.#count(now), this.#total.counts]) {
      counts.requests += requests;
      counts.retried += retried;
      counts.expired += expired;
      counts.cancelled += cancelled;
    }
    this.#pending = { requests: 0, retried: 0, expired: 0, cancelled: 0 };
  }

  #count(at: number): Activity["counts"] {
    return this.#minuteOf(at).counts;
  }

  #setGauges(levels: Gauges, at: number): void {
    if (isSameGauges(levels, this.#gauges)) return;
    this.#minuteOf(at).gauges.set(levels, at);
    this.#gauges = levels;
  }

  /** A clock that goes back must not change a page that is a row already. */
  #minuteOf(at: number): Activity {
    const pageFrom = Math.floor(this.#checkpointedAt / ACTIVITY_PAGE_MS) * ACTIVITY_PAGE_MS;
    const from = Math.floor(Math.max(at, pageFrom) / MINUTE_MS) * MINUTE_MS;
    const known = this.#minutes.get(from);
    if (known) return known;
    const minute = Activity.begin(from, this.#gauges);
    this.#minutes.set(from, minute);
    return minute;
  }

  // Writing

  /** Whether a checkpoint is worth its own row. */
  isCheckpointDue(now: number): boolean {
    const areWorkersDue = this.#hasNewWorkers && now >= this.#checkpointedAt + ACTIVITY_CHECKPOINT_MS;
    if (areWorkersDue || this.#unwrittenSince === null) return areWorkersDue;
    return now >= Math.min(this.#unwrittenSince + ACTIVITY_CHECKPOINT_MS, this.#quietAt ?? Infinity);
  }

  /** When a checkpoint is due although nothing happens until then; null for never. */
  get checkpointDueAt(): number | null {
    return this.#unwrittenSince === null ? null : this.#quietAt;
  }

  /** What the checkpoint carries. Pages that are over become rows. */
  checkpoint(now: number): ActivityCheckpoint {
    this.#foldHours(now); // first: pages replace older ones
    this.#writePages(now);
    this.#checkpointedAt = now;
    this.#hasNewWorkers = false;
    this.#unwrittenSince = null;
    return {
      at: now,
      foldedUntil: this.#foldedUntil,
      levels: this.#gauges,
      minutes: [...this.#minutes.values()].map((minute) => minute.toRecord()),
      total: this.#total.toRecord(),
    };
  }

  #writePages(now: number): void {
    const current = Math.floor(now / ACTIVITY_PAGE_MS);
    const pages = Map.groupBy(this.#minutes.values(), ({ from }) => Math.floor(from / ACTIVITY_PAGE_MS));
    for (const [page, minutes] of pages) {
      if (page >= current) continue;
      const records = minutes.map((minute) => minute.toRecord());
      if (page > current - ACTIVITY_PAGES_RETAINED) this.#store.savePage(page, records);
      for (const { from } of minutes) this.#minutes.delete(from);
    }
  }

  /** Hours that are over become rows, if anything happened in them. */
  #foldHours(now: number): void {
    const present = Math.floor(now / HOUR_MS) * HOUR_MS;
    if (this.#foldedUntil >= present) return;
    const parts = this.minutesSince(this.#foldedUntil);
    const hours = new Set(parts.map(({ activity }) => Math.floor(activity.from / HOUR_MS) * HOUR_MS));
    for (const from of hours) {
      if (from < this.#foldedUntil || from >= present) continue;
      const [hour] = spansOf(parts, { from, stepMs: HOUR_MS, count: 1 }, this.#gauges, now);
      if (hour) this.#store.saveHour(hour.toRecord());
    }
    this.#foldedUntil = present;
  }

  // Reading

  get levels(): Gauges {
    return this.#gauges;
  }

  get total(): Activity {
    return this.#total;
  }

  /** All minutes that are known from `since` on. */
  minutesSince(since: number): ActivitySegment[] {
    const written = this.#store.minutesSince(since - ACTIVITY_PAGE_MS);
    const minutes = [...written.map((record) => Activity.from(record)), ...this.#minutes.values()];
    return minutes.map((activity) => ({ activity, lengthMs: MINUTE_MS }));
  }

  /** All hours that are known from `since` on, and the minutes of those that are not over. */
  hoursSince(since: number): ActivitySegment[] {
    const hours = this.#store.hoursSince(since).map((record) => Activity.from(record));
    const minutes = this.minutesSince(this.#foldedUntil).filter(
      ({ activity }) => activity.from >= this.#foldedUntil,
    );
    return [...hours.map((activity) => ({ activity, lengthMs: HOUR_MS })), ...minutes];
  }
}
