/** The calls of the first object of an endpoint to the others: what they must know, and what they have to do. */
import type { EndpointConfig } from "../../contract/endpoint.ts";
import type { WebhookSecret } from "../../contract/webhook.ts";
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import type { GroupCommit } from "../../durable/group-commit.ts";
import { earliest } from "../../std/earliest.ts";
import type { ShardAnswer, ShardLoad, ShardQuery, ShardReply, ShardUpdate } from "./messages.ts";
import type { ShardsState } from "./shard-state.ts";

const REPEAT_AFTER_MS = 2_000;

/** The other objects, as the first one calls them. */
export type ShardObject = {
  readonly followLead: (shard: number, update: ShardUpdate | null) => Promise<ShardReply>;
  readonly answerLead: (query: ShardQuery) => Promise<ShardAnswer | null>;
};

type Member = {
  /** The update that it has. */
  has: ShardUpdate | null;
  /** It has said that there is news. */
  hasNews: boolean;
  isCalled: boolean;
  failedAt: number | null;
};

type Known = Pick<ShardsState, "known" | "active" | "wanted" | "loans" | "busy"> & {
  readonly config: EndpointConfig | undefined;
  readonly secrets: readonly WebhookSecret[];
  readonly report: FleetReport;
};

/** A load, with its lists by worker. */
export type KnownLoad = Omit<ShardLoad, "busy" | "freedAt"> & {
  readonly jobsOf: ReadonlyMap<string, number>;
  readonly freedAtOf: ReadonlyMap<string, number>;
};

export type ShardCallsParts = {
  readonly objectOf: (shard: number) => ShardObject;
  readonly commit: Pick<GroupCommit, "run">;
};

export class ShardCalls {
  readonly #parts: ShardCallsParts;
  readonly #members = new Map<number, Member>();
  #loads: ReadonlyMap<number, KnownLoad> = new Map();
  #update: ShardUpdate | null = null;
  /** Those that must have the update: the others have nothing to do. */
  #following: ReadonlySet<number> = new Set();

  constructor(parts: ShardCallsParts) {
    this.#parts = parts;
  }

  /** The object woke: what the others have to do is unknown. */
  recover({ busy, loans }: ShardsState): void {
    for (const shard of [...busy, ...Object.values(loans).map((loan) => loan.shard)])
      this.#memberOf(shard).hasNews = true;
  }

  /** What each of them had to do when it was last asked; another map whenever that changes. */
  get loads(): ReadonlyMap<number, KnownLoad> {
    return this.#loads;
  }

  /** All below this number have the update. */
  areConfigured(count: number): boolean {
    for (let shard = 1; shard < count; shard += 1)
      if (this.#update === null || this.#members.get(shard)?.has !== this.#update) return false;
    return true;
  }

  /** At the end of a turn: what they must know now. */
  update({ known, active, wanted, loans, busy, config, secrets, report }: Known): void {
    if (!config) return;
    const before = this.#update;
    const isSame =
      before?.config === config &&
      before.report === report &&
      before.webhookSecrets === secrets &&
      before.active === active;
    if (!isSame) this.#update = { config, report, webhookSecrets: secrets, active };
    const lentTo = Object.values(loans).map((loan) => loan.shard);
    const taking = Array.from({ length: Math.min(known, Math.max(active, wanted)) }, (_, shard) => shard);
    this.#following = new Set([...taking.slice(1), ...busy, ...lentTo]);
  }

  /** Another object has something to do, or nothing any more. */
  noteNews(shard: number): void {
    this.#memberOf(shard).hasNews = true;
  }

  /** Whether it has said that there is news which is not known yet. */
  hasNews(shard: number): boolean {
    const member = this.#members.get(shard);
    return member !== undefined && (member.hasNews || member.isCalled);
  }

  /** Makes the calls that are due. */
  send(keepAlive: (work: Promise<unknown>) => void, now: number): void {
    for (const shard of new Set([...this.#following, ...this.#members.keys()])) {
      const member = this.#memberOf(shard);
      if (member.isCalled || !this.#isDue(shard, member)) continue;
      if (member.failedAt !== null && now < member.failedAt + REPEAT_AFTER_MS) continue;
      keepAlive(this.#call(shard, member));
    }
  }

  /** When to call again although nothing happens; null for never. */
  nextAt(now: number): number | null {
    const due = [...this.#members].filter(([shard, member]) => this.#isDue(shard, member));
    return earliest(due.map(([, { failedAt }]) => Math.max(now, (failedAt ?? now) + REPEAT_AFTER_MS)));
  }

  /** Asks all others below this number; throws when one does not answer. One that knows nothing is left out. */
  async ask(known: number, query: ShardQuery): Promise<ShardAnswer[]> {
    const others = Array.from({ length: known - 1 }, (_, index) => this.#parts.objectOf(index + 1));
    const answers = await Promise.all(others.map((object) => object.answerLead(query)));
    return answers.filter((answer) => answer !== null);
  }

  async #call(shard: number, member: Member): Promise<void> {
    member.isCalled = true;
    try {
      while (this.#isDue(shard, member)) {
        const update = this.#update;
        member.hasNews = false;
        const reply = await this.#parts
          .objectOf(shard)
          .followLead(shard, member.has === update ? null : update);
        member.has = update;
        member.failedAt = null;
        if (reply.kind === "load") await this.#parts.commit.run(() => this.#learn(shard, reply.load));
      }
    } catch {
      // It cannot be reached for now; the alarm repeats the call.
      member.hasNews = true;
      member.failedAt = Date.now();
    } finally {
      member.isCalled = false;
    }
  }

  #learn(shard: number, { busy, freedAt, ...load }: ShardLoad): void {
    const known = { ...load, jobsOf: new Map(busy), freedAtOf: new Map(freedAt) };
    this.#loads = new Map([...this.#loads, [shard, known]]);
  }

  #isDue(shard: number, { has, hasNews }: Member): boolean {
    return hasNews || (this.#following.has(shard) && this.#update !== null && has !== this.#update);
  }

  #memberOf(shard: number): Member {
    const known = this.#members.get(shard);
    if (known) return known;
    const member: Member = { has: null, hasNews: false, isCalled: false, failedAt: null };
    this.#members.set(shard, member);
    return member;
  }
}
