/**
 * The first object of an endpoint leads the others, if there are any.
 *
 * H1  Fleet and the management API know the first object only. It passes on what they say, and the others answer with
 *     what they have to do; so scaling, rollouts and budgets see one endpoint.
 * H2  An object takes new jobs only after it was configured. One that is no longer needed takes none, ends what it has
 *     and answers for its jobs for as long as these are stored.
 * H3  See worker-lending.ts.
 */
import { ENDPOINT_SHARDS_MAX } from "../../contract/limits.ts";
import { planShardCount } from "../../domain/scaling/shard-count.ts";
import { earliest } from "../../std/earliest.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import type { ExchangeCall } from "../messages.ts";
import type { CallRate } from "./call-rate.ts";
import type { KnownLoad, ShardCalls } from "./shard-calls.ts";
import type { HostLoans, ShardStates } from "./shard-state.ts";
import type { WorkerLending } from "./worker-lending.ts";

/** Least time between two looks at who serves whom, and the most while others have jobs. */
const PLAN_EVERY_MS = 100;
const LOOK_AGAIN_MS = 500;

export type LeadShardParts = {
  readonly state: ShardStates;
  readonly facts: EndpointFacts;
  readonly rate: CallRate;
  readonly calls: ShardCalls;
  readonly lending: WorkerLending;
  /** Most objects that an endpoint may have. */
  readonly shardsMax: number;
};

export class LeadShard {
  readonly #parts: LeadShardParts;
  #plannedAt = 0;
  /** Of the calls that the number of objects was last decided on. */
  #countedFor = 0;
  #lowSince: number | null = null;

  constructor(parts: LeadShardParts) {
    this.#parts = parts;
  }

  recover(): void {
    const { facts, state, calls } = this.#parts;
    if (!facts.hasShards) return;
    state.recover();
    calls.recover(state.now);
  }

  /** There have been other objects. */
  get isLeading(): boolean {
    return this.#parts.state.now.known > 1;
  }

  /** Objects that take new jobs. */
  get active(): number {
    return this.#parts.state.now.active;
  }

  get known(): number {
    return this.#parts.state.now.known;
  }

  // Agents

  /** What the agent of a host must know, if it does not know it yet. */
  newsFor({ hostId, shards }: ExchangeCall): HostLoans | undefined {
    if (shards === undefined || (shards === 0 && !this.isLeading)) return undefined;
    const loans = this.#parts.lending.loansOf(hostId);
    return loans.number === shards ? undefined : loans;
  }

  /** The number of what the agent of a host must know. */
  numberFor(hostId: string): number {
    return this.isLeading ? this.#parts.lending.loansOf(hostId).number : 0;
  }

  // Turns

  /** At the end of a turn: what follows from the loads; `isClosed` names workers that get no more jobs. */
  decide(isClosed: (workerId: string) => boolean, now: number): void {
    const { facts, calls, state, lending } = this.#parts;
    if (facts.shard !== 0 || facts.config?.type !== "QB") return;
    this.#planCount(now);
    if (!this.isLeading) return;
    lending.forgetGone();
    this.#admitConfigured();
    if (now >= this.#plannedAt + PLAN_EVERY_MS) {
      this.#plannedAt = now;
      lending.plan(isClosed, now);
    }
    const { shared: config, report, webhookSecrets: secrets } = facts;
    calls.update({ ...state.now, config, report, secrets });
    this.#noteBusy();
  }

  /** When to decide although nothing happens; null for never. */
  nextAt(now: number): number | null {
    if (!this.isLeading) return null;
    const { calls, lending } = this.#parts;
    const isAnyAtWork = [...calls.loads.values()].some(hasWork);
    const returnAt = lending.returnAt === null ? null : Math.max(now + PLAN_EVERY_MS, lending.returnAt);
    return earliest([isAnyAtWork ? now + LOOK_AGAIN_MS : returnAt, calls.nextAt(now)]);
  }

  /** So many objects shall take new jobs from now on. */
  resize(count: number): void {
    const { facts, state } = this.#parts;
    const wanted = Math.min(Math.max(1, count), ENDPOINT_SHARDS_MAX);
    const { known, active } = state.now;
    if (wanted === state.now.wanted) return;
    facts.recordShards();
    state.change({ wanted, known: Math.max(known, wanted), active: Math.min(active, wanted) });
  }

  #planCount(now: number): void {
    const { rate, shardsMax, calls, state, lending } = this.#parts;
    const windowFrom = rate.windowFrom(now);
    if (windowFrom === this.#countedFor || shardsMax === 1 || !lending.canMoveAll) return;
    this.#countedFor = windowFrom;
    const others = [...calls.loads.values()].reduce((sum, load) => sum + load.callsPerSecond, 0);
    const callsPerSecond = rate.perSecond(now) + others;
    const sample = { active: state.now.wanted, callsPerSecond, lowSince: this.#lowSince, max: shardsMax };
    const plan = planShardCount(sample, now);
    this.#lowSince = plan.lowSince;
    this.resize(plan.count);
  }

  /** H2 */
  #admitConfigured(): void {
    const { state, calls, lending } = this.#parts;
    const { wanted, active, used } = state.now;
    if (active >= wanted || !calls.areConfigured(wanted)) return;
    state.change({ active: wanted, used: Math.max(used, wanted) });
    lending.notifyAllHosts();
  }

  /** After a loss of memory these are asked first. */
  #noteBusy(): void {
    const { calls, state } = this.#parts;
    const busy = [...calls.loads].filter(([, load]) => hasWork(load)).map(([shard]) => shard);
    if (busy.join() !== state.now.busy.join()) state.change({ busy });
  }
}

function hasWork({ waiting, running }: KnownLoad): boolean {
  return waiting.normal + waiting.low + running.normal + running.low > 0;
}
