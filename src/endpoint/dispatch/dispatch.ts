/**
 * Dispatch: where queued jobs meet agents that offer free slots.
 *
 * D1  At most one exchange of an agent waits; a newer one supersedes it.
 * D2  A waiting agent is answered with jobs in the turn in which they were submitted: one commit for both.
 * D3  A claimed job that its agent does not list, although the reply that carried it is no longer open, never
 *     arrived; it is queued again, and that attempt does not count as lost.
 * D4  A call of another process of the agent ends the waits of the one before: nobody would hear their answers. Calls
 *     of the process before that come later were overtaken.
 */
import { sizeOf } from "../../domain/jobs/job-machine.ts";
import { IN_OBJECT_WAIT_MS } from "../../durable/waiters.ts";
import type { Lease, Taker } from "../queue/claims.ts";
import type { Claim, ExchangeCall, Slots } from "../messages.ts";

/** An answer to an agent brings no further job once the inputs in it have this size together. */
export const ANSWER_INPUTS_MAX_BYTES = 20_000_000;

/** How a waiting exchange ends: with jobs; to look again; superseded by a newer one; or with nothing. */
export type WaitEnd =
  | { readonly kind: "jobs"; readonly jobs: readonly Claim[] }
  | { readonly kind: "look" }
  | { readonly kind: "superseded" }
  | { readonly kind: "quiet" };

type ExchangeRef = { readonly session: string; readonly turn: number };

class WaitingExchange {
  readonly hostId: string;
  readonly ref: ExchangeRef;
  readonly jobs: Claim[] = [];
  readonly ended: Promise<WaitEnd>;
  readonly #free: Map<string, number>;
  readonly #end: (end: WaitEnd) => void;
  readonly #timer: ReturnType<typeof setTimeout>;
  #inputBytes = 0;

  constructor(call: ExchangeCall, onEnd: () => void) {
    this.hostId = call.hostId;
    this.ref = { session: call.session, turn: call.turn };
    this.#free = new Map(call.slots.map(({ workerId, free }) => [workerId, free]));
    const { promise, resolve } = Promise.withResolvers<WaitEnd>();
    this.ended = promise;
    this.#end = (end) => {
      clearTimeout(this.#timer);
      onEnd();
      resolve(end);
    };
    this.#timer = setTimeout(() => this.end({ kind: "quiet" }), IN_OBJECT_WAIT_MS);
  }

  /** Takes a free slot of the worker that has most of them; returns the worker. */
  takeSlot(): string | undefined {
    if (this.#inputBytes >= ANSWER_INPUTS_MAX_BYTES) return undefined;
    const [best] = [...this.#free].toSorted((a, b) => b[1] - a[1]);
    if (!best) return undefined;
    const [workerId, free] = best;
    if (free === 1) this.#free.delete(workerId);
    else this.#free.set(workerId, free - 1);
    return workerId;
  }

  give(job: Claim): void {
    this.jobs.push(job);
    this.#inputBytes += sizeOf(job.input);
  }

  putBack(workerId: string): void {
    this.#free.set(workerId, (this.#free.get(workerId) ?? 0) + 1);
  }

  withdraw(workerIds: readonly string[]): void {
    for (const workerId of workerIds) this.#free.delete(workerId);
  }

  end(end: WaitEnd): void {
    this.#end(end);
  }
}

/** A slot that a waiting agent offers, taken for a job of this same turn. */
export type OpenSlot = Taker & {
  readonly give: (job: Claim, seq: number) => void;
  /** There is no job for it after all. */
  readonly putBack: () => void;
};

export class Dispatch {
  readonly #waiting = new Map<string, WaitingExchange>();
  /** Which exchange carries a claimed job to its agent; gone once the agent is known to have it. */
  readonly #deliveries = new Map<number, ExchangeRef>();
  /** The session of the agent that was the last to list a claimed job. */
  readonly #holders = new Map<number, string>();
  readonly #newestExchanges = new Map<string, ExchangeRef>();
  /** Sessions of each host that are over. */
  readonly #pastSessions = new Map<string, readonly string[]>();
  /** Turns of the newest session of each host whose replies this object has known since it has its memory. */
  readonly #knownTurns = new Map<string, KnownTurns>();
  readonly #sentStops = new Map<
    string,
    { readonly session: string; readonly stops: Map<string, SentStop> }
  >();

  // Waiting

  wait(call: ExchangeCall): Promise<WaitEnd> {
    this.supersede(call.hostId);
    const waiting: WaitingExchange = new WaitingExchange(call, () => {
      if (this.#waiting.get(call.hostId) === waiting) this.#waiting.delete(call.hostId);
    });
    this.#waiting.set(call.hostId, waiting);
    return waiting.ended;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  supersede(hostId: string): void {
    this.#waiting.get(hostId)?.end({ kind: "superseded" });
  }

  /** D4 */
  endOtherSession({ hostId, session }: ExchangeCall): void {
    const waiting = this.#waiting.get(hostId);
    if (waiting && waiting.ref.session !== session) this.supersede(hostId);
  }

  /** All waiting agents exchange again. */
  wakeAll(): void {
    for (const waiting of [...this.#waiting.values()]) waiting.end({ kind: "look" });
  }

  /** These workers get no more jobs. */
  withdraw(workerIds: readonly string[]): void {
    for (const waiting of this.#waiting.values()) waiting.withdraw(workerIds);
  }

  /** There is news for the agent other than a job. */
  wake(hostId: string): void {
    this.#waiting.get(hostId)?.end({ kind: "look" });
  }

  // Slots

  /** A slot of a waiting agent, if there is one; the caller must give a job to it in this same turn. */
  takeSlot(): OpenSlot | undefined {
    for (const waiting of this.#waiting.values()) {
      const workerId = waiting.takeSlot();
      if (workerId === undefined) continue;
      const give = (job: Claim, seq: number) => {
        waiting.give(job);
        this.delivering(seq, waiting.ref);
      };
      return { workerId, hostId: waiting.hostId, give, putBack: () => waiting.putBack(workerId) };
    }
    return undefined;
  }

  /** At most `count` slots of waiting agents. */
  takeSlots(count: number): OpenSlot[] {
    const slots: OpenSlot[] = [];
    while (slots.length < count) {
      const slot = this.takeSlot();
      if (!slot) break;
      slots.push(slot);
    }
    return slots;
  }

  /** Ends the waits that got jobs in this turn. */
  flush(): void {
    for (const waiting of [...this.#waiting.values()]) {
      if (waiting.jobs.length > 0) waiting.end({ kind: "jobs", jobs: waiting.jobs });
    }
  }

  // Delivery

  delivering(seq: number, ref: ExchangeRef): void {
    this.#deliveries.set(seq, { session: ref.session, turn: ref.turn });
    this.#holders.delete(seq);
  }

  /** The agent lists the job. */
  arrived(seq: number, { session }: Pick<ExchangeCall, "session">): void {
    this.#deliveries.delete(seq);
    this.#holders.set(seq, session);
  }

  /** The attempt is over. */
  forget(seq: number): void {
    this.#deliveries.delete(seq);
    this.#holders.delete(seq);
  }

  /** Notes a call, whatever it brings. */
  heard(call: ExchangeCall): void {
    if (this.#isPast(call)) return;
    const { hostId, session, turn, openTurns } = call;
    const known = this.#knownTurns.get(hostId);
    const turns = known?.session === session ? known.turns : new Set<number>();
    for (const other of turns) if (other < Math.min(turn, ...openTurns) - TURNS_KEPT) turns.delete(other);
    const [oldest = turn] = turns;
    if (turns.size >= TURNS_MAX) turns.delete(oldest);
    this.#knownTurns.set(hostId, { session, turns: turns.add(turn) });
  }

  /** Every reply that was open when the call was made is known. */
  #knowsReplies({ hostId, session, openTurns }: ExchangeCall): boolean {
    const known = this.#knownTurns.get(hostId);
    return known?.session === session && openTurns.every((open) => known.turns.has(open));
  }

  /** True for the first call of a process of the agent, and for its first one after a loss of memory. */
  isNewSession(call: ExchangeCall): boolean {
    return !this.#isPast(call) && this.#newestExchanges.get(call.hostId)?.session !== call.session;
  }

  /** False for a call that was overtaken on its way, so that its lists are out of date: it gets no jobs. */
  isNewest(call: ExchangeCall): boolean {
    if (this.#isPast(call)) return false;
    const newest = this.#newestExchanges.get(call.hostId);
    if (newest?.session === call.session && newest.turn > call.turn) return false;
    this.#newestExchanges.set(call.hostId, { session: call.session, turn: call.turn });
    this.#notePast(call);
    return true;
  }

  #isPast({ hostId, session }: Pick<ExchangeCall, "hostId" | "session">): boolean {
    return this.#pastSessions.get(hostId)?.includes(session) === true;
  }

  #notePast({ hostId, previousSession }: ExchangeCall): void {
    const past = this.#pastSessions.get(hostId) ?? [];
    if (previousSession === undefined || past.includes(previousSession)) return;
    this.#pastSessions.set(hostId, [...past.slice(1 - PAST_SESSIONS_MAX), previousSession]);
  }

  /** The job is on its way in a reply that was still open when the agent made the call. */
  isBeingDelivered(seq: number, call: ExchangeCall): boolean {
    const ref = this.#deliveries.get(seq);
    return ref?.session === call.session && call.openTurns.includes(ref.turn);
  }

  /** D3, for a job of this agent that its newest call neither lists nor reports. */
  isUndelivered({ seq, startedAt }: Pick<Lease, "seq" | "startedAt">, call: ExchangeCall): boolean {
    const ref = this.#deliveries.get(seq);
    // The call may have been made before the claim, and come late or twice; after a restart the reply is unknown.
    if (!ref) {
      const isLater = isMadeAfter(startedAt, call);
      return this.#wasHeldBefore(seq, call, isLater) || (isLater && this.#knowsReplies(call));
    }
    if (ref.session !== call.session) return true;
    return ref.turn < call.turn && !call.openTurns.includes(ref.turn);
  }

  /** An earlier process of the agent had the job: whatever replies are open, this one has it from there or not at all. */
  #wasHeldBefore(seq: number, { hostId, session }: ExchangeCall, isLater: boolean): boolean {
    const holder = this.#holders.get(seq);
    if (holder === undefined || holder === session) return false;
    return isLater || this.#isPast({ hostId, session: holder });
  }

  // Stops

  /**
   * True when a stop shall be sent to this session of the agent, for only then it ends a wait: the first time, and again
   * when the answer with it is over and the agent still lists the job.
   */
  isNewStop(call: ExchangeCall, key: string): boolean {
    if (this.#isPast(call)) return false;
    const sent = this.#sentStops.get(call.hostId);
    const stops = sent?.session === call.session ? sent.stops : new Map<string, SentStop>();
    const last = stops.get(key);
    if (last && !mayBeLost(last, call)) return false;
    stops.set(key, { turn: call.turn, times: (last?.times ?? 0) + 1 });
    this.#sentStops.set(call.hostId, { session: call.session, stops });
    return true;
  }

  /** Forgets stops of jobs that the agent no longer lists. */
  forgetStops(call: ExchangeCall): void {
    const sent = this.#sentStops.get(call.hostId);
    if (!sent) return;
    const waiting = new Set(call.running.map(({ jobId, attempt }) => `${jobId}#${attempt}`));
    for (const key of sent.stops.keys()) if (!waiting.has(key)) sent.stops.delete(key);
  }
}

type KnownTurns = { readonly session: string; readonly turns: Set<number> };

/** A call that knows of a later reply was made after that time. */
function isMadeAfter(at: number, { newestReplyAt }: ExchangeCall): boolean {
  return newestReplyAt !== undefined && newestReplyAt > at;
}

/** The calls of those before are no longer on their way. */
const PAST_SESSIONS_MAX = 4;

/** Turns that are remembered after they were over. */
const TURNS_KEPT = 16;
/** At most so many, also of an agent that says that one of its first replies is still open. */
const TURNS_MAX = 1_000;

/** In which turn a stop was last sent, and how often. */
type SentStop = { readonly turn: number; readonly times: number };

/** A job that an agent lists with its result is listed until the result is at the edge, however often it is stopped. */
const STOP_TIMES_MAX = 4;

function mayBeLost({ turn, times }: SentStop, call: ExchangeCall): boolean {
  return turn < call.turn && !call.openTurns.includes(turn) && times < STOP_TIMES_MAX;
}

/** The workers of the slots in rounds, so that no worker gets all jobs while others are idle. */
export function* slotsInTurn(slots: Slots): Generator<string> {
  const most = Math.max(0, ...slots.map(({ free }) => free));
  for (let round = 1; round <= most; round += 1) {
    for (const { workerId, free } of slots) if (free >= round) yield workerId;
  }
}
