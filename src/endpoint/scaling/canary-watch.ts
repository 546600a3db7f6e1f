/**
 * The evidence for and against a version on trial: how attempts of both versions end, counted in one row while the
 * trial lasts, and judged at the end of turns. Where an endpoint has several objects, those of the first one count: it
 * gets a random part of the jobs.
 */
import type { EndpointConfig } from "../../contract/endpoint.ts";
import type { CanaryBody } from "../../contract/job.ts";
import type { StoredJob } from "../../domain/jobs/job-machine.ts";
import {
  CANARY_LIMIT_MS,
  judgeCanary,
  looksDue,
  NO_TALLY,
  STALL_LIMIT_MS,
  withEnd,
  type VersionTally,
} from "../../domain/rollouts/canary-rule.ts";
import { earliest } from "../../std/earliest.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import type { Fact } from "../facts/fact-store.ts";

export type CanaryState = {
  readonly version: number;
  readonly since: number;
  readonly looks: number;
  /** A worker of the new version has become ready. */
  readonly wasReady: boolean;
  readonly canary: VersionTally;
  readonly base: VersionTally;
};

/** Why workers of the new version do not start, and since when that is known. */
export type Stall = { readonly since: number; readonly reason: string };

type Facts = Pick<EndpointFacts, "config" | "report" | "settleCanary" | "canaryVerdict">;

export class CanaryWatch {
  readonly #stored: Fact<CanaryState>;
  readonly #facts: Facts;
  #state: CanaryState | undefined;
  #isDirty = false;
  #stall: Stall | null = null;

  constructor(stored: Fact<CanaryState>, facts: Facts) {
    this.#stored = stored;
    this.#facts = facts;
  }

  recover(): void {
    this.#state = this.#stored.read();
  }

  /** A job's row has changed: counts the end of an attempt that a worker of either version had. */
  moved(before: StoredJob, after: StoredJob): void {
    const state = this.#current();
    if (!state || before.state !== "running" || after.state === "cancelled") return;
    const isLost = after.rescues > before.rescues;
    if (after.state === "queued" && !isLost) return;
    const version = this.#versionOf(before.workerId);
    if (version === undefined) return;
    const { startedAt, finishedAt } = after;
    const hasFailed = after.state !== "completed";
    const executionMs = startedAt !== null && finishedAt !== null ? finishedAt - startedAt : undefined;
    const side = version >= state.version ? "canary" : "base";
    this.#change({ ...state, [side]: withEnd(state[side], { hasFailed, executionMs }) });
  }

  /** To be called at the end of a turn: judges what has been counted; returns whether there is a verdict. */
  decide(stall: Stall | null, now: number): boolean {
    const { config, canaryVerdict } = this.#facts;
    this.#stall = stall;
    if (!config?.canary || canaryVerdict) return false;
    const state = this.#observed(config, now);
    const isStalled = stall !== null && now >= stall.since + STALL_LIMIT_MS;
    const verdict = judgeCanary({
      ...state,
      isOver: now >= state.since + CANARY_LIMIT_MS,
      obstacle: isStalled ? stall.reason : null,
    });
    const looks = looksDue(state.canary.ended);
    if (looks !== state.looks) this.#change({ ...state, looks });
    if (this.#isDirty && this.#state) this.#stored.write(this.#state);
    this.#isDirty = false;
    if (verdict) this.#facts.settleCanary({ ...verdict, version: config.version });
    return verdict !== undefined;
  }

  /** Whether the new version has had, or has, more than its share of the jobs; `running`: jobs by worker. */
  isAhead(running: ReadonlyMap<string, number>): boolean {
    const { config } = this.#facts;
    const state = this.#current();
    if (!config?.canary || !state) return false;
    let [canary, all] = [state.canary.ended, state.canary.ended + state.base.ended];
    for (const [workerId, jobs] of running) {
      all += jobs;
      if ((this.#versionOf(workerId) ?? 0) >= state.version) canary += jobs;
    }
    return canary > (all * config.canary.percent) / 100;
  }

  /** When it is judged although nothing happens; null for never. */
  nextAt(now: number): number | null {
    const state = this.#current();
    if (!state || this.#facts.canaryVerdict) return null;
    const stalledAt = this.#stall === null ? null : this.#stall.since + STALL_LIMIT_MS;
    return earliest([Math.max(now, state.since + CANARY_LIMIT_MS), stalledAt]);
  }

  describe(): CanaryBody | null {
    const { config, canaryVerdict: verdict } = this.#facts;
    const state = this.#current();
    if (!state || !config) return null;
    const countsOf = ({ ended, failed }: VersionTally) => ({ ended, failed });
    return {
      to: state.version,
      percent: config.canary?.percent ?? 100,
      since: new Date(state.since).toISOString(),
      jobs: countsOf(state.canary),
      before: countsOf(state.base),
      verdict: verdict?.kind ?? null,
      reason: verdict?.reason ?? null,
    };
  }

  /** Undefined where there is no trial of the present version. */
  #current(): CanaryState | undefined {
    const { config, canaryVerdict } = this.#facts;
    const isOnTrial = config?.canary !== undefined || canaryVerdict !== undefined;
    return isOnTrial && this.#state?.version === config?.version ? this.#state : undefined;
  }

  #observed({ version }: EndpointConfig, now: number): CanaryState {
    const state = this.#current();
    const begun = { version, since: now, looks: 0, wasReady: false, canary: NO_TALLY, base: NO_TALLY };
    if (!state) this.#change(begun);
    const present = state ?? begun;
    const isReady = (worker: { readonly version?: number; readonly state: string }) =>
      worker.state === "ready" && (worker.version ?? version) >= version;
    if (present.wasReady || !this.#facts.report.workers.some(isReady)) return present;
    const changed = { ...present, wasReady: true };
    this.#change(changed);
    return changed;
  }

  #versionOf(workerId: string | null): number | undefined {
    const worker = this.#facts.report.workers.find((one) => one.workerId === workerId);
    return worker && (worker.version ?? this.#facts.config?.version);
  }

  #change(state: CanaryState): void {
    this.#state = state;
    this.#isDirty = true;
  }
}
