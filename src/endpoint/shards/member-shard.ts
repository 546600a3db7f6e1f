/** An object of an endpoint that is not the first: it does what that one says, and says when there is news. */
import type { GroupCommit } from "../../durable/group-commit.ts";
import type { FeatureHooks, CommitHooks } from "../commit-hooks.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import type { RequestLimits } from "../limits/request-limits.ts";
import type { Claims } from "../queue/claims.ts";
import type { QueueLedger } from "../queue/queue-ledger.ts";
import type { CallRate } from "./call-rate.ts";
import type { ShardLoad, ShardReply, ShardUpdate } from "./messages.ts";

/** Least time between two messages; with many objects it is longer, since all of them go to the first. */
const NEWS_EVERY_MS = 250;
const NEWS_EVERY_PER_SHARD_MS = 12;
/** Least time until the next one when jobs wait and no worker is here. */
const URGENT_EVERY_MS = 20;
const REPEAT_AFTER_MS = 2_000;

export type MemberShardParts = {
  readonly facts: EndpointFacts;
  readonly claims: Pick<Claims, "running" | "runningIn" | "workers" | "waitingSince">;
  readonly ledger: Pick<QueueLedger, "counts">;
  readonly commit: GroupCommit;
  readonly limits: RequestLimits;
  readonly rate: CallRate;
  readonly takeFreed: () => readonly string[];
  /** Tells the first object that there is news. */
  readonly notifyLead: (shard: number) => Promise<void>;
  readonly keepAlive: (work: Promise<unknown>) => void;
};

export class MemberShard {
  readonly #parts: MemberShardParts;
  /** What the first object has heard of the load. */
  #reported = "";
  #reportedAt = 0;
  #isNotifying = false;
  #failedAt: number | null = null;
  readonly #freedAt = new Map<string, number>();

  constructor(parts: MemberShardParts) {
    this.#parts = parts;
  }

  get isMember(): boolean {
    return this.#parts.facts.shard > 0;
  }

  get hooks(): FeatureHooks {
    return {
      commit: (_, now) => {
        if (this.isMember) this.#noteFreed(now);
      },
      send: () => {
        const now = Date.now();
        if (this.isMember && this.#hasNews && now >= this.#dueAt) this.#parts.keepAlive(this.#notify(now));
      },
      nextAt: (now) => {
        if (!this.isMember || !this.#hasNews) return null;
        return this.#isNotifying ? now + REPEAT_AFTER_MS : Math.max(now, this.#dueAt);
      },
    };
  }

  /** Takes over what the first object says; returns what there is to do. `shard`: the number of this object. */
  async follow(
    shard: number,
    update: ShardUpdate | null,
    hooks: Pick<CommitHooks, "learn">,
  ): Promise<ShardReply> {
    const { facts, commit } = this.#parts;
    if (facts.isRemoved) return { kind: "removed" };
    return await commit.run(() => {
      const now = Date.now();
      if (update) this.#adopt(shard, update, hooks, now);
      this.#reported = this.#outline;
      this.#reportedAt = now;
      return { kind: "load", load: this.#load(now) };
    });
  }

  #adopt(shard: number, update: ShardUpdate, hooks: Pick<CommitHooks, "learn">, now: number): void {
    const { facts, limits } = this.#parts;
    const { config, webhookSecrets, report, active } = update;
    limits.shareWith(active);
    facts.configureShard(config, shard, active);
    facts.learnWebhookSecrets(webhookSecrets);
    if (report.revision > facts.report.revision) hooks.learn(facts.learn(report), now);
  }

  #load(now: number): ShardLoad {
    const { claims, ledger, rate } = this.#parts;
    const { queued, completed, failed, retried } = ledger.counts;
    return {
      waiting: { ...queued },
      running: { normal: claims.runningIn.normal, low: claims.runningIn.low },
      oldestQueuedAt: queued.normal > 0 ? claims.waitingSince("normal") : null,
      busy: [...claims.workers.counts],
      freedAt: [...this.#freedAt],
      callsPerSecond: rate.perSecond(now),
      ended: { completed, failed, retried },
    };
  }

  /** Differs when the load does. */
  get #outline(): string {
    const { claims, ledger } = this.#parts;
    const { queued, completed, failed, retried } = ledger.counts;
    const running = claims.running.size;
    return `${queued.normal}.${queued.low}.${running}.${completed}.${failed}.${retried}`;
  }

  get #hasNews(): boolean {
    return this.#outline !== this.#reported;
  }

  get #dueAt(): number {
    if (this.#failedAt !== null) return this.#failedAt + REPEAT_AFTER_MS;
    const { queued } = this.#parts.ledger.counts;
    const isStarving = queued.normal + queued.low > 0 && this.#parts.claims.running.size === 0;
    const everyMs = isStarving
      ? URGENT_EVERY_MS
      : NEWS_EVERY_MS + NEWS_EVERY_PER_SHARD_MS * this.#parts.facts.activeShards;
    return this.#reportedAt + everyMs;
  }

  async #notify(now: number): Promise<void> {
    if (this.#isNotifying) return;
    this.#isNotifying = true;
    this.#reportedAt = now;
    try {
      await this.#parts.notifyLead(this.#parts.facts.shard);
      this.#failedAt = null;
    } catch {
      this.#failedAt = Date.now(); // the alarm repeats it
    } finally {
      this.#isNotifying = false;
    }
  }

  #noteFreed(now: number): void {
    const { report } = this.#parts.facts;
    for (const workerId of this.#parts.takeFreed()) this.#freedAt.set(workerId, now);
    if (this.#freedAt.size <= report.workers.length) return;
    const alive = new Set(report.workers.map(({ workerId }) => workerId));
    for (const workerId of this.#freedAt.keys()) if (!alive.has(workerId)) this.#freedAt.delete(workerId);
  }
}
