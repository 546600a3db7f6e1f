/**
 * The conversation about what runs on this host. One sync is parked at the edge at all times; a change of
 * a worker's state sends a newer one, and the edge answers the older.
 */
import type {
  Assignment,
  Inventory,
  SyncReply,
  SyncRequest,
  WorkerReport,
} from "../../src/contract/agent/agent.ts";
import type { HostTelemetry } from "../../src/contract/agent/telemetry.ts";
import type { HostModel } from "../../src/contract/model.ts";
import { AGENT_VERSION } from "../../src/contract/agent/agent-version.ts";
import type { EdgeOutcome } from "../edge/edge-client.ts";
import { type EdgeContext, reportFailedCall } from "../edge/edge-context.ts";
import { Backoff } from "../core/backoff.ts";
import { Schedule } from "../core/schedule.ts";

/** How long a sync may be held while the host has jobs and no presence, so that its silence is noticed soon. */
export const BUSY_SYNC_HOLD_MS = 4_000;

export type SyncLoopOptions = EdgeContext & {
  readonly inventory: () => Inventory;
  readonly reports: () => WorkerReport[];
  readonly telemetry?: () => HostTelemetry | undefined;
  /** Whole models on this host. */
  readonly models?: () => readonly HostModel[];
  /** Images and files of apps on this host. */
  readonly contents?: () => readonly string[];
  readonly isBusy: () => boolean;
  /** What vouches for this host between two syncs; null while nothing does. */
  readonly presence: () => string | null;
  readonly apply: (assignments: readonly Assignment[], reply: SyncReply) => void;
  readonly onConnected: () => void;
  /** Hears every reply. */
  readonly onReply?: (reply: SyncReply) => void;
};

type OpenSync = {
  readonly number: number;
  readonly sentAt: number;
  readonly holdMs: number;
  isReplaced: boolean;
};

const CONVERSATION = "sync";
const GATHER_MS = 5;
const DETAIL_MS = 2_000;
/** A job that is over within this time does not shorten the promise of the parked sync. */
const BUSY_MS = 1_000;
const OPEN_MAX = 8;
/** A sync that is answered before this was not held by the edge. A few in a row are chance. */
const QUICK_REPLY_MS = 500;
const QUICK_REPLIES_MAX = 3;

export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly #open = new Set<OpenSync>();
  readonly #schedule = new Schedule(() => this.#pump());
  readonly #backoff: Backoff;
  #hasNews = true;
  #lastNumber = 0;
  #appliedNumber = 0;
  /** The last sync that was sent when a reply was applied. */
  #overtakenNumber = 0;
  #appliedRevision = 0;
  #isStarted = false;
  #isConnected = false;
  #quickReplies = 0;
  #hasFailed = false;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.timing, options.random);
    options.signal.addEventListener("abort", () => this.#schedule.cancel(), { once: true });
  }

  /** Nothing is sent before: the workers here are not known until then. */
  start(): void {
    this.#isStarted = true;
    this.#schedule.within(0);
  }

  /** A worker has a new state, or only a new detail. */
  changed(isNewState: boolean): void {
    this.#hasNews = true;
    this.#schedule.within(isNewState ? GATHER_MS : DETAIL_MS);
  }

  attemptsChanged(): void {
    if (this.#mustPromiseSoon() && !this.#hasShortLongPoll()) this.#schedule.within(BUSY_MS);
  }

  /** A new presence vouches for the promise of the next sync; without one the promise must be short. */
  presenceChanged(): void {
    this.#hasNews ||= this.#options.presence() !== null;
    this.#schedule.within(0);
  }

  /** The network is back: nothing waits for the end of a rest any more. */
  reconnected(): void {
    this.#backoff.restart();
    this.#schedule.within(0);
  }

  #pump(): void {
    if (!this.#isStarted || this.#options.signal.aborted) return;
    const restMs = this.#backoff.remainingMs();
    if (restMs > 0) return this.#schedule.within(restMs);
    const mustShorten = this.#mustPromiseSoon() && !this.#hasShortLongPoll();
    if (this.#longPoll() && !this.#hasNews && !mustShorten) return;
    if (this.#open.size < OPEN_MAX) this.#send();
  }

  #send(): void {
    const { timing, client, signal } = this.#options;
    const longPoll = this.#longPoll();
    if (longPoll) longPoll.isReplaced = true;
    this.#hasNews = false;
    this.#lastNumber += 1;
    const holdMs = this.#holdMs();
    const sync = { number: this.#lastNumber, sentAt: performance.now(), holdMs, isReplaced: false };
    this.#open.add(sync);
    const limits = { timeoutMs: holdMs + timing.edgeSlackMs, signal };
    void client.sync(this.#request(holdMs), limits).then((outcome) => this.#settle(sync, outcome));
  }

  #holdMs(): number {
    if (this.#hasFailed) return 0; // the reply shows at once that the edge is back
    return this.#mustPromiseSoon() ? BUSY_SYNC_HOLD_MS : this.#options.timing.edgeHoldMs;
  }

  #mustPromiseSoon(): boolean {
    return this.#options.isBusy() && this.#options.presence() === null;
  }

  #request(holdMs: number): SyncRequest {
    const { inventory, reports, telemetry, models, contents } = this.#options;
    const presence = this.#options.presence();
    return {
      agentVersion: AGENT_VERSION,
      inventory: inventory(),
      workers: reports(),
      appliedRevision: this.#appliedRevision,
      holdMs,
      ...(presence !== null && { presence }),
      telemetry: telemetry?.(),
      ...(models && { models: [...models()] }),
      ...(contents && { contents: [...contents()] }),
    };
  }

  #settle(sync: OpenSync, outcome: EdgeOutcome<SyncReply>): void {
    const { signal, reachability } = this.#options;
    if (signal.aborted) return;
    this.#open.delete(sync);
    if (outcome.kind === "answered") {
      this.#hasFailed = false;
      reachability.answered(CONVERSATION);
      this.#apply(sync, outcome.reply);
    } else {
      this.#hasNews = true;
      this.#hasFailed = true;
      this.#backoff.increase();
      reportFailedCall(this.#options, CONVERSATION, outcome);
      if (outcome.kind === "unauthorized") return;
    }
    this.#schedule.within(0);
  }

  #apply(sync: OpenSync, reply: SyncReply): void {
    this.#options.onReply?.(reply);
    const isQuick = !sync.isReplaced && performance.now() - sync.sentAt < QUICK_REPLY_MS;
    this.#quickReplies = isQuick ? this.#quickReplies + 1 : 0;
    if (this.#quickReplies > QUICK_REPLIES_MAX) this.#backoff.increase();
    else this.#backoff.reset();
    if (this.#isNews(sync, reply)) {
      this.#appliedNumber = Math.max(sync.number, this.#appliedNumber);
      this.#overtakenNumber = this.#lastNumber;
      this.#appliedRevision = reply.revision;
      this.#options.apply(reply.assignments, reply);
    }
    if (this.#isConnected) return;
    this.#isConnected = true;
    this.#options.onConnected();
  }

  /**
   * Replies of concurrent calls may overtake each other, and the calls themselves as well: among them the revision
   * decides. A call that was sent later is answered with news in any case.
   */
  #isNews({ number }: OpenSync, { revision }: SyncReply): boolean {
    if (number > this.#overtakenNumber || revision > this.#appliedRevision) return true;
    return revision === this.#appliedRevision && number > this.#appliedNumber;
  }

  #longPoll(): OpenSync | undefined {
    return [...this.#open].find((sync) => !sync.isReplaced);
  }

  #hasShortLongPoll(): boolean {
    const longPoll = this.#longPoll();
    return longPoll !== undefined && longPoll.holdMs <= BUSY_SYNC_HOLD_MS;
  }
}
