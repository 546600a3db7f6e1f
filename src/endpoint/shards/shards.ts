/** Opens what an object of an endpoint has to do with the others: as the first one, or as one that it leads. */
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { ENDPOINT_SHARDS_MAX } from "../../contract/limits.ts";
import type { GroupCommit } from "../../durable/group-commit.ts";
import type { FeatureHooks } from "../commit-hooks.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import type { FactStore } from "../facts/fact-store.ts";
import type { RequestLimits } from "../limits/request-limits.ts";
import type { ActivityCounters } from "../metrics/activity-counters.ts";
import type { Claims } from "../queue/claims.ts";
import type { QueueLedger } from "../queue/queue-ledger.ts";
import type { Queue } from "../queue/queue.ts";
import { CallRate } from "./call-rate.ts";
import { LeadShard } from "./lead-shard.ts";
import { MemberShard } from "./member-shard.ts";
import { OtherShards } from "./other-shards.ts";
import { ShardAnswers } from "./shard-answers.ts";
import { ShardCalls, type ShardObject } from "./shard-calls.ts";
import { ShardStates } from "./shard-state.ts";
import { ShardSums } from "./shard-sums.ts";
import { WorkerLending } from "./worker-lending.ts";

/** Calls between the objects of one endpoint. */
export type ShardLinks = {
  readonly objectOf: (shard: number) => ShardObject;
  /** Tells the first object that there is news in this one. */
  readonly notifyLead: (shard: number) => Promise<void>;
};

type ShardsParts = {
  readonly links: ShardLinks;
  readonly commit: GroupCommit;
  readonly facts: EndpointFacts;
  readonly factStore: FactStore;
  readonly limits: RequestLimits;
  readonly queue: Queue;
  readonly claims: Claims;
  readonly ledger: QueueLedger;
  readonly activity: ActivityCounters;
  /** Since when workers of this object are free. */
  readonly idleTimes: { readonly freeSince: (workerId: string) => number | undefined };
  /** ENDPOINT_SHARDS_MAX of the environment. */
  readonly shardsMax: string | undefined;
  readonly keepAlive: (work: Promise<unknown>) => void;
};

/** What the hooks need of features that are opened later. */
type ShardNeighbors = {
  readonly isClosed: (workerId: string) => boolean;
  readonly wakeHosts: (hostIds: readonly string[]) => void;
};

export type Shards = ReturnType<typeof openShards>;

export function openShards({ links, idleTimes, keepAlive, ...parts }: ShardsParts) {
  const { commit, facts, factStore, claims, limits } = parts;
  const { objectOf, notifyLead } = links;
  const rate = new CallRate();
  const calls = new ShardCalls({ objectOf, commit });
  const shardsMax = Math.min(Number(parts.shardsMax) || ENDPOINT_SHARDS_MAX, ENDPOINT_SHARDS_MAX);
  const state = new ShardStates(factStore.fact("shards"));
  const lending = new WorkerLending({ ...parts, state, calls, idleTimes });
  const lead = new LeadShard({ facts, state, rate, calls, lending, shardsMax });
  const takeFreed = () => claims.workers.takeFreed();
  const member = new MemberShard({ ...parts, rate, takeFreed, notifyLead, keepAlive });
  const spread = {
    /** Objects that take new jobs. */
    get active() {
      return facts.shard === 0 ? lead.active : facts.activeShards;
    },
  };

  function hooks({ isClosed, wakeHosts }: ShardNeighbors): FeatureHooks {
    return {
      recover: () => {
        lead.recover();
        limits.shareWith(spread.active);
      },
      commit: (config: EndpointConfig, now) => {
        if (facts.shard > 0) return member.hooks.commit?.(config, now);
        lead.decide(isClosed, now);
        limits.shareWith(lead.active);
        wakeHosts(lending.takeHostsToNotify());
      },
      send: () => {
        if (facts.shard > 0) return member.hooks.send?.();
        calls.send(keepAlive, Date.now());
      },
      nextAt: (now) => (facts.shard > 0 ? (member.hooks.nextAt?.(now) ?? null) : lead.nextAt(now)),
    };
  }

  return {
    rate,
    calls,
    lead,
    lending,
    member,
    spread,
    others: new OtherShards(calls, lending),
    sums: new ShardSums(lead, calls),
    answers: new ShardAnswers(parts),
    hooks,
  };
}
