/**
 * The conversation about the jobs of one endpoint that has a worker here, with one of the objects that share its queue.
 *
 * One long-poll turn waits at the edge at all times; its reply brings jobs and stops. Chunks and reports go with the
 * next long-poll turn when free slots ask for a new one anyway, and in immediate turns beside it otherwise. Either
 * offers the slots that became free since, so that a finished worker gets its next job in the same round trip.
 *
 * T1  A turn is open from before its request is built until its reply is applied, so `openTurns` is right.
 * T2  The jobs of a reply are stored in the same step in which its turn ends: no request can be built in between.
 *     A job that its worker cannot get any more is declined by not being listed: the edge queues it again.
 * T3  Reports and chunks are sent again until they are acknowledged (see exchange-batch.ts).
 * T4  No turn is sent while the conversation rests after a failure, or after the edge has answered
 *     long-poll turns at once and without news.
 */
import type {
  DispatchedJob,
  ExchangeReply,
  ExchangeRequest,
  RawExchangeReply,
  ShardLoans,
} from "../../src/contract/agent/agent.ts";
import type { QueueErrorCode } from "../../src/contract/errors.ts";
import type { AttemptLedger, ReceivedAttempt } from "../journal/attempt-ledger.ts";
import type { AttemptRecord } from "../journal/journal.ts";
import type { ShardRef } from "../journal/shard-ref.ts";
import {
  type ExchangeBatch,
  encodeBatch,
  isAcknowledged,
  isEmpty,
  EMPTY_BATCH,
  nextBatch,
  acknowledgeChunks,
} from "./exchange-batch.ts";
import type { EdgeOutcome } from "../edge/edge-client.ts";
import { type EdgeContext, reportFailedCall } from "../edge/edge-context.ts";
import {
  areSameSlots,
  boundProgress,
  type OpenTurn,
  type Slot,
  longPollSlots,
  immediateSlots,
} from "./exchange-plan.ts";
import type { Session } from "./session.ts";
import { Backoff } from "../core/backoff.ts";
import { Schedule } from "../core/schedule.ts";

/** The workers of this host, as exchanges need them. */
export interface ExchangeWorkers {
  /** Whether the endpoint has a worker that is not paused. */
  hasRunning(endpointId: string): boolean;
  freeSlots(endpointId: string): Slot[];
  /** How many more jobs a worker can get. */
  acceptableJobs(workerId: string): number;
  accept(workerId: string, jobs: readonly ReceivedAttempt[]): void;
  stopJob(endpointId: string, stop: ExchangeReply["stops"][number]): void;
}

/** How many clients follow the logs of an endpoint. */
export interface LogFollowers {
  follow(endpointId: string): number;
  setFollow(endpointId: string, follow: number): void;
}

/** Which objects of an endpoint the workers serve. */
export interface ExchangeShards {
  numberOf(endpointId: string): number;
  serves(workerId: string, ref: ShardRef): boolean;
  /** A worker serves the object, or shall. */
  isServed(ref: ShardRef): boolean;
  /** The first object has said where workers belong. */
  learn(endpointId: string, loans: ShardLoans): void;
}

export type ExchangeLoopOptions = EdgeContext & {
  readonly ref: ShardRef;
  readonly session: Session;
  readonly ledger: AttemptLedger;
  readonly workers: ExchangeWorkers;
  readonly shards: ExchangeShards;
  readonly logs: LogFollowers;
  /** The last turn of the conversations of this session before: the edge takes no lower one for news. */
  readonly lastTurn: number;
  /** A turn has ended: slots that it offered may be offered elsewhere. */
  readonly onTurnEnd: () => void;
  /** The endpoint has no workers and no reports left on this host, and the edge knows that. */
  readonly onOver: (lastTurn: number) => void;
};

type Turn = OpenTurn & {
  readonly sentAt: number;
  readonly batch: ExchangeBatch;
  /** A newer long-poll turn has gone out: the edge answers this one at once. */
  isReplaced: boolean;
};

/** Not any answer 404 is of the edge: it may be that of a proxy. */
const ENDPOINT_NOT_FOUND: QueueErrorCode = "endpoint_not_found";
/** Gathers reports and slots that belong together, such as a result and the same worker's next poll. */
const GATHER_MS = 0;
/** A poll that ended is followed by the next one of the same worker; only a slot that stays away is withdrawn. */
const WITHDRAW_MS = 500;
/** Chunks that a handler yields this close together share an exchange, and a row at the edge. */
const CHUNK_GATHER_MS = 5;
/** A long-poll turn without slots only brings stops; a job that ends sooner than this needs none. */
const STOPS_ONLY_AFTER_MS = 20;
/** The slots beside that of a new job are offered this much later: short jobs report meanwhile, in the same turn. */
const OTHER_SLOTS_AFTER_MS = 3;
const PROGRESS_MS = 1_000;
const IMMEDIATE_MAX = 4;
/** A further immediate turn beside an open one goes this much later: what ends meanwhile shares it. */
const SHARE_MS = 5;
const OPEN_MAX = 16;
/** The edge did not hold a long-poll turn that returns without news before this. A few in a row are chance. */
const QUICK_REPLY_MS = 500;
const QUICK_HOLDS_MAX = 3;

export class ExchangeLoop {
  readonly #options: ExchangeLoopOptions;
  readonly #open = new Map<number, Turn>();
  readonly #schedule = new Schedule(() => this.#pump());
  readonly #backoff: Backoff;
  #lastTurn: number;
  #newestReplyAt: number | undefined;
  #hasNews = false;
  #quickHolds = 0;
  /** Slots have changed, and have not been looked at. */
  #isLooking = false;
  #lastJobAt = Number.NEGATIVE_INFINITY;
  /** Since the last failure, or since this process began, the edge has answered nothing. */
  #isUnanswered: boolean;

  constructor(options: ExchangeLoopOptions) {
    this.#options = options;
    this.#lastTurn = options.lastTurn;
    this.#isUnanswered = options.lastTurn === 0;
    this.#backoff = new Backoff(options.timing, options.random);
    options.signal.addEventListener("abort", () => this.#schedule.cancel(), { once: true });
    this.#schedule.within(0);
  }

  #isOver(): boolean {
    const { ledger, ref } = this.#options;
    const isIdle = !this.#hasWorkers() && this.#open.size === 0 && !ledger.hasAnyOf(ref);
    return isIdle && !this.#hasNews;
  }

  // What happens on the host

  slotsChanged(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    // A job that comes or ends changes its worker several times in one step: what follows is decided once.
    queueMicrotask(() => {
      this.#isLooking = false;
      if (!this.#options.signal.aborted) this.#lookAtSlots();
    });
  }

  #lookAtSlots(): void {
    const longPoll = this.#longPoll();
    const offered = new Map(longPoll?.slots.map((slot) => [slot.workerId, slot.free]));
    const hasMore = this.#slotsToHold().some((slot) => slot.free > (offered.get(slot.workerId) ?? 0));
    this.#schedule.within(hasMore || !longPoll ? GATHER_MS : WITHDRAW_MS);
  }

  /** A worker stopped taking jobs for good: its slots are withdrawn at once. */
  slotsWithdrawn(): void {
    this.#schedule.within(GATHER_MS);
  }

  reportsChanged(): void {
    this.#schedule.within(GATHER_MS);
  }

  chunksChanged(): void {
    this.#schedule.within(CHUNK_GATHER_MS);
  }

  progressChanged(): void {
    this.#hasNews = true;
    this.#schedule.within(PROGRESS_MS);
  }

  /** One exchange shall be made in any case: the edge may believe that this host has jobs which it does not have. */
  greet(): void {
    this.#hasNews = true;
    this.#schedule.within(0);
  }

  /** Whether slots of the worker are offered by an exchange that is open. */
  offers(workerId: string): boolean {
    return [...this.#open.values()].some(({ slots }) => slots.some((slot) => slot.workerId === workerId));
  }

  /** The network is back: nothing waits for the end of a rest any more. */
  reconnected(): void {
    this.#backoff.restart();
    this.#schedule.within(0);
  }

  // Sending

  #pump(): void {
    if (this.#options.signal.aborted) return;
    const restMs = this.#backoff.remainingMs();
    if (restMs > 0) return this.#schedule.within(restMs); // T4
    if (this.#isUnanswered) return this.#probe();
    this.#sendBatches();
    this.#ensureLongPoll();
  }

  /**
   * One turn goes first, and does not hold: its reply shows at once that the edge is there. With it, what an earlier
   * process had and this one has not is given out again, whatever the journal has lost of that process.
   */
  #probe(): void {
    if (this.#count((turn) => !turn.isLongPoll) > 0 || this.#isOver()) return;
    this.#send(false, this.#slotsToOfferNow(), this.#nextBatch());
  }

  #sendBatches(): void {
    while (this.#count((turn) => !turn.isLongPoll) < IMMEDIATE_MAX && this.#open.size < OPEN_MAX) {
      const batch = this.#nextBatch();
      if (isEmpty(batch)) break;
      const shareMs = this.#shareMs();
      if (shareMs > 0) {
        this.#schedule.within(shareMs);
        break;
      }
      if (this.#hasNewSlots()) this.#sendLongPoll(this.#slotsToHold(), batch);
      else this.#send(false, this.#slotsToOfferNow(), batch);
    }
    if (this.#hasNews && this.#open.size < OPEN_MAX) this.#send(false, [], EMPTY_BATCH);
  }

  #shareMs(): number {
    const withBatch = [...this.#open.values()].filter((turn) => !isEmpty(turn.batch));
    const sentAt = Math.max(0, ...withBatch.map((turn) => turn.sentAt));
    return sentAt + SHARE_MS - performance.now();
  }

  #hasNewSlots(): boolean {
    const slots = this.#slotsToHold();
    return slots.length > 0 && !areSameSlots(this.#longPoll()?.slots ?? [], slots);
  }

  #sendLongPoll(slots: readonly Slot[], batch: ExchangeBatch): void {
    const longPoll = this.#longPoll();
    if (longPoll) longPoll.isReplaced = true;
    this.#send(true, slots, batch);
  }

  #ensureLongPoll(): void {
    const { ledger, ref } = this.#options;
    const slots = this.#slotsToHold();
    const longPoll = this.#longPoll();
    const isOffering = longPoll !== undefined && longPoll.slots.length > 0; // which is taken back in any case
    if (!this.#hasWorkers() && !ledger.hasAnyOf(ref) && !isOffering) return;
    if (longPoll && areSameSlots(longPoll.slots, slots)) return;
    if (this.#open.size >= OPEN_MAX) return; // the next reply pumps again
    const restMs = slots.length === 0 ? STOPS_ONLY_AFTER_MS : OTHER_SLOTS_AFTER_MS;
    const earlyMs = this.#lastJobAt + restMs - performance.now();
    if (!longPoll && earlyMs > 0) return this.#schedule.within(earlyMs);
    this.#sendLongPoll(slots, EMPTY_BATCH);
  }

  #send(isLongPoll: boolean, slots: readonly Slot[], batch: ExchangeBatch): void {
    this.#hasNews = false;
    this.#lastTurn += 1;
    const turn = {
      turn: this.#lastTurn,
      isLongPoll,
      slots,
      batch,
      sentAt: performance.now(),
      isReplaced: false,
    };
    const body = this.#encode(turn);
    this.#open.set(turn.turn, turn); // T1
    void this.#call(turn, body).then((outcome) => this.#settle(turn, outcome));
  }

  #call(turn: Turn, body: string): Promise<EdgeOutcome<RawExchangeReply>> {
    const { client, ref, timing, signal } = this.#options;
    const holdMs = turn.isLongPoll ? timing.edgeHoldMs : 0;
    return client.exchange(ref.endpointId, body, { timeoutMs: holdMs + timing.edgeSlackMs, signal });
  }

  #encode({ turn, isLongPoll, slots, batch }: Turn): string {
    const { session, ledger, ref, timing } = this.#options;
    const request: Omit<ExchangeRequest, "held" | "reports" | "chunks"> = {
      session: session.id,
      previousSession: session.previous,
      turn,
      newestReplyAt: this.#newestReplyAt,
      openTurns: [...this.#open.keys()],
      slots: [...slots],
      holdMs: isLongPoll ? timing.edgeHoldMs : 0,
      ...this.#asShard(),
    };
    const attempts = `"held":[${boundProgress(ledger.encodedAttempts(ref), turn).join(",")}]`;
    // Users' values are JSON text, and remain the text that they are.
    return `${JSON.stringify(request).slice(0, -1)},${attempts},${encodeBatch(batch)}}`;
  }

  /** The first object also learns what the agent knows of the logs' followers and of the other objects. */
  #asShard(): Pick<ExchangeRequest, "shard" | "shards" | "follow"> {
    const { ref, logs, shards } = this.#options;
    const { endpointId, shard } = ref;
    if (shard > 0) return { shard };
    return { follow: logs.follow(endpointId), shards: shards.numberOf(endpointId) };
  }

  #nextBatch(): ExchangeBatch {
    const { ledger, ref } = this.#options;
    return nextBatch(
      ledger,
      ref,
      [...this.#open.values()].map((turn) => turn.batch),
    );
  }

  // Replies

  #settle(turn: Turn, outcome: EdgeOutcome<RawExchangeReply>): void {
    if (this.#options.signal.aborted) return;
    if (outcome.kind === "answered") this.#apply(turn, outcome.reply);
    else this.#fail(turn, outcome);
    this.#options.onTurnEnd();
    if (this.#isOver()) this.#options.onOver(this.#lastTurn);
    else this.#schedule.within(0);
  }

  #apply(turn: Turn, reply: RawExchangeReply): void {
    const { ref, ledger, workers, logs, reachability, shards } = this.#options;
    const { endpointId } = ref;
    this.#open.delete(turn.turn);
    if (reply.at !== undefined) this.#newestReplyAt = Math.max(reply.at, this.#newestReplyAt ?? 0);
    const bringsNews = this.#bringsNews(reply);
    for (const ack of reply.acks) ledger.acknowledge(ack.jobId, ack.attempt, ack.outcome);
    acknowledgeChunks(turn.batch, reply.chunkAcks, ledger);
    this.#receive(this.#accepted(reply.jobs)); // T2
    this.#isUnanswered = false;
    reachability.answered(endpointId);
    for (const stop of reply.stops) workers.stopJob(endpointId, stop);
    if (reply.follow !== undefined) logs.setFollow(endpointId, reply.follow);
    if (reply.shards && ref.shard === 0) shards.learn(endpointId, reply.shards);
    if (this.#isSuspicious(turn, reply, bringsNews)) this.#backoff.increase();
    else this.#backoff.reset();
  }

  /** A stop of a job that the host does not have is no news. */
  #bringsNews({ jobs, stops, follow, shards }: RawExchangeReply): boolean {
    const { ledger, logs, ref } = this.#options;
    const { endpointId } = ref;
    if (shards && shards.number !== this.#options.shards.numberOf(endpointId)) return true;
    if (follow !== undefined && follow !== logs.follow(endpointId)) return true;
    return jobs.length > 0 || stops.some((stop) => ledger.isOpen(stop));
  }

  /** The jobs that their workers can get. */
  #accepted(jobs: RawExchangeReply["jobs"]): RawExchangeReply["jobs"] {
    const { log, workers } = this.#options;
    return [...Map.groupBy(jobs, (job) => job.workerId)].flatMap(([workerId, ofWorker]) => {
      const limit = workers.acceptableJobs(workerId);
      for (const job of ofWorker.slice(limit)) {
        log.info("job_declined", { jobId: job.id, attempt: job.attempt, workerId });
        this.#hasNews = true; // the edge should learn soon that the host does not have it
      }
      return ofWorker.slice(0, limit);
    });
  }

  #receive(jobs: RawExchangeReply["jobs"]): void {
    const { ref, ledger, log, workers } = this.#options;
    if (jobs.length === 0) return;
    this.#lastJobAt = performance.now();
    const readable: ReceivedAttempt[] = [];
    for (const [index, record] of ledger.receive(ref.endpointId, jobs).entries()) {
      const job = jobs[index] as DispatchedJob<RawExchangeReply>;
      const { workerId, attempt } = record;
      log.debug("job_received", { jobId: job.id, attempt, workerId });
      if (job.error === undefined) readable.push({ job, record });
      else this.#failUnreadable(record, job.error);
    }
    // Those of a worker together: they may share one poll.
    for (const [workerId, received] of Map.groupBy(readable, ({ record }) => record.workerId))
      workers.accept(workerId, received);
  }

  /** It ends without its worker having seen it. */
  #failUnreadable(record: AttemptRecord, error: string): void {
    const { ledger, log } = this.#options;
    log.warn("job_unreadable", { jobId: record.jobId, attempt: record.attempt, reason: error });
    void ledger.report(record, { kind: "failed", error, output: undefined }).catch((failure: unknown) => {
      log.error("journal_failed", { jobId: record.jobId, reason: String(failure) });
    });
  }

  /** Whether answering such replies at once would make a hot loop. */
  #isSuspicious(turn: Turn, reply: RawExchangeReply, bringsNews: boolean): boolean {
    if (!isAcknowledged(turn.batch, reply)) return true;
    if (!turn.isLongPoll || turn.isReplaced || !isEmpty(turn.batch)) return false;
    const isQuick = !bringsNews && performance.now() - turn.sentAt < QUICK_REPLY_MS;
    this.#quickHolds = isQuick ? this.#quickHolds + 1 : 0;
    return this.#quickHolds > QUICK_HOLDS_MAX;
  }

  #fail(turn: Turn, outcome: Exclude<EdgeOutcome<RawExchangeReply>, { kind: "answered" }>): void {
    const { endpointId } = this.#options.ref;
    this.#open.delete(turn.turn);
    this.#isUnanswered = true;
    this.#hasNews ||= turn.slots.length > 0; // the host does not have the jobs that the reply may have brought
    this.#backoff.increase();
    reportFailedCall(this.#options, endpointId, outcome);
    if (outcome.kind === "refused" && outcome.code === ENDPOINT_NOT_FOUND) this.#leave();
  }

  /** The endpoint was deleted: nobody wants its jobs, and its reports will never be accepted. */
  #leave(): void {
    const { ref, ledger, workers } = this.#options;
    for (const { jobId, attempt } of ledger.openAttempts(ref))
      workers.stopJob(ref.endpointId, { jobId, attempt, reason: "expired" });
    if (this.#hasWorkers()) return;
    ledger.forgetShard(ref);
    this.#hasNews = false;
  }

  // Turns

  #longPoll(): Turn | undefined {
    return [...this.#open.values()].find((turn) => turn.isLongPoll && !turn.isReplaced);
  }

  #hasWorkers(): boolean {
    const { ref, workers, shards } = this.#options;
    return workers.hasRunning(ref.endpointId) && (ref.shard === 0 || shards.isServed(ref));
  }

  #freeSlots(): Slot[] {
    const { ref, workers, shards } = this.#options;
    return workers.freeSlots(ref.endpointId).filter(({ workerId }) => shards.serves(workerId, ref));
  }

  #slotsToHold(): Slot[] {
    return longPollSlots(this.#freeSlots(), [...this.#open.values()]);
  }

  #slotsToOfferNow(): Slot[] {
    return immediateSlots(this.#freeSlots(), [...this.#open.values()]);
  }

  #count(matches: (turn: Turn) => boolean): number {
    return [...this.#open.values()].filter(matches).length;
  }
}
