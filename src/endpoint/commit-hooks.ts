/**
 * What the features of an Endpoint object do at the moments that they share: when it wakes, at the end of each turn,
 * when Fleet reports, when the alarm rings. A feature registers its hooks under its name; nothing else calls them.
 */
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { AlarmClock } from "../durable/alarm-clock.ts";
import { earliest } from "../std/earliest.ts";
import type { EndpointFacts, FleetNews } from "./facts/endpoint-facts.ts";
import type { QueueEffect } from "./queue/queue.ts";

/**
 * The order of the hooks, the same at every moment:
 *
 * - `limits` come first: wake-up channels that outlast the object's memory count in them.
 * - `dispatch` claims jobs before `queue` deletes orphaned payloads, since a claim removes expired jobs.
 * - `scaling` decides on what `queue`, `loadBalancing` and the other objects (`shards`) have counted; `metrics` show
 *   what it decided.
 * - `checkpoint` carries what `scaling` and `metrics` have noted in the same turn, and is read before them by `queue`.
 * - `batches` come after `queue`: whether a batch is over depends on the jobs that a sweep has just removed.
 */
export const HOOK_ORDER = [
  "limits",
  "dispatch",
  "queue",
  "loadBalancing",
  "shards",
  "scaling",
  "metrics",
  "checkpoint",
  "webhooks",
  "batches",
] as const;

export type FeatureName = (typeof HOOK_ORDER)[number];

export type FeatureHooks = {
  /** The object woke: memory is rebuilt from rows and sockets. */
  readonly recover?: (now: number) => void;
  /** A loss of memory cut calls to other programs short. */
  readonly isInterrupted?: () => boolean;
  /** Fleet reported; the facts have it already. */
  readonly learn?: (news: FleetNews, now: number) => void;
  /** The work of a turn is done: follows it up in memory. Also called while the object is unconfigured. */
  readonly settle?: (now: number) => void;
  readonly jobSettled?: (seq: number, now: number) => void;
  readonly jobRequeued?: (seq: number) => void;
  readonly handlerStopped?: (hostId: string) => void;
  /** Writes what the turn has left in memory. */
  readonly commit?: (config: EndpointConfig, now: number) => void;
  /** Starts calls to other programs; the output gate holds them until the turn is durable. */
  readonly send?: () => void;
  /** When the alarm must ring for the feature; null for never. */
  readonly nextAt?: (now: number) => number | null;
  /** The alarm rang: does what is due, in a bounded batch. */
  readonly sweep?: (now: number) => void;
  /** All queued jobs were cancelled. */
  readonly purged?: (now: number) => void;
};

export type CommitHooksParts = {
  readonly features: Readonly<Record<FeatureName, FeatureHooks>>;
  readonly facts: Pick<EndpointFacts, "config">;
  readonly alarm: Pick<AlarmClock, "armBy">;
  /** What the transitions of the turn ask for. */
  readonly takeEffects: () => readonly QueueEffect[];
};

export class CommitHooks {
  readonly #features: readonly FeatureHooks[];
  readonly #parts: CommitHooksParts;

  constructor(parts: CommitHooksParts) {
    this.#features = HOOK_ORDER.map((name) => parts.features[name]);
    this.#parts = parts;
  }

  recover(now: number): void {
    for (const feature of this.#features) feature.recover?.(now);
  }

  get isInterrupted(): boolean {
    return this.#features.some((feature) => feature.isInterrupted?.());
  }

  learn(news: FleetNews, now: number): void {
    for (const feature of this.#features) feature.learn?.(news, now);
  }

  sweep(now: number): void {
    for (const feature of this.#features) feature.sweep?.(now);
  }

  purged(now: number): void {
    for (const feature of this.#features) feature.purged?.(now);
  }

  /**
   * Runs once per turn, in its commit: everything that follows from what the turn did. All `settle` hooks run before the
   * effects are taken: claims that they make remove expired jobs, whose effects belong to this turn. So a job whose
   * attempt ended may run again by the time that its effect is applied.
   */
  finishTurn(now: number): void {
    for (const feature of this.#features) feature.settle?.(now);
    for (const effect of this.#parts.takeEffects()) this.#apply(effect, now);
    const { config } = this.#parts.facts;
    if (!config) return;
    for (const feature of this.#features) feature.commit?.(config, now);
    for (const feature of this.#features) feature.send?.();
    this.#parts.alarm.armBy(earliest(this.#features.map((feature) => feature.nextAt?.(now) ?? null)));
  }

  #apply(effect: QueueEffect, now: number): void {
    for (const feature of this.#features) {
      switch (effect.kind) {
        case "settled":
          feature.jobSettled?.(effect.seq, now);
          break;
        case "requeued":
          feature.jobRequeued?.(effect.seq);
          break;
        case "stopHandler":
          feature.handlerStopped?.(effect.hostId);
          break;
      }
    }
  }
}
