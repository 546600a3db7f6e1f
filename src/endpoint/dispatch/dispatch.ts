/**
 * Dispatch: where queued jobs meet agents that offer free slots.
 *
 * D1  Of one agent at most one exchange is held; a newer one sends the older one home.
 * D2  A held agent is answered with jobs in the turn in which they were submitted: one commit for both.
 * D3  A claimed job that its agent does not list, though the reply that carried it is no longer open, never
 *     arrived; it goes back to the queue and no attempt of the job is blamed.
 */
import { sizeOf } from "../../domain/jobs/job-machine.ts";
import type { Taker } from "../queue/queue.ts";
import type { Dispatched, ExchangeCall, Slots } from "../messages.ts";
import { IN_OBJECT_WAIT_MS } from "../../durable/waiters.ts";

/** An answer to an agent brings no further job once the inputs in it have this size together. */
export const ANSWER_INPUTS_MAX_BYTES = 20_000_000;

/** What a held exchange is told: jobs, or to look again, or that a newer one took its place. */
export type WaitEnd =
  | { readonly kind: "jobs"; readonly jobs: readonly Dispatched[] }
  | { readonly kind: "look" }
  | { readonly kind: "superseded" }
  | { readonly kind: "quiet" };

type ExchangeRef = { readonly session: string; readonly turn: number };

class WaitingExchange {
  readonly hostId: string;
  readonly ref: ExchangeRef;
  readonly jobs: Dispatched[] = [];
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

  /** A worker with a free slot; of several, the one with most of them. */
  takeSlot(): string | undefined {
    if (this.#inputBytes >= ANSWER_INPUTS_MAX_BYTES) return undefined;
    const [best] = [...this.#free].toSorted((a, b) => b[1] - a[1]);
    if (!best) return undefined;
    const [workerId, free] = best;
    if (free === 1) this.#free.delete(workerId);
    else this.#free.set(workerId, free - 1);
    return workerId;
  }

  give(job: Dispatched): void {
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

/** A slot that a held agent offers, taken for a job of this same turn. */
export type OpenSlot = Taker & {
  readonly give: (job: Dispatched, seq: number) => void;
  /** There is no job for it after all. */
  readonly putBack: () => void;
};

export class Dispatch {
  readonly #waiting = new Map<string, WaitingExchange>();
  /** Which exchange carries a claimed job to its agent; gone once the agent is known to have it. */
  readonly #deliveries = new Map<number, ExchangeRef>();
  readonly #newestExchanges = new Map<string, ExchangeRef>();
  readonly #sentStops = new Map<string, { session: string; keys: Set<string> }>();

  // Holding

  /** True when this call is older than the one now held for the same agent. */
  isSuperseded(call: ExchangeCall): boolean {
    const held = this.#waiting.get(call.hostId)?.ref;
    return held !== undefined && held.session === call.session && held.turn > call.turn;
  }

  wait(call: ExchangeCall): Promise<WaitEnd> {
    this.supersede(call.hostId);
    const held: WaitingExchange = new WaitingExchange(call, () => {
      if (this.#waiting.get(call.hostId) === held) this.#waiting.delete(call.hostId);
    });
    this.#waiting.set(call.hostId, held);
    return held.ended;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  supersede(hostId: string): void {
    this.#waiting.get(hostId)?.end({ kind: "superseded" });
  }

  /** Other workers than before may take jobs, so all that wait have to be looked at again. */
  wakeAll(): void {
    for (const held of [...this.#waiting.values()]) held.end({ kind: "look" });
  }

  /** These workers get no more jobs. */
  withdraw(workerIds: readonly string[]): void {
    for (const held of this.#waiting.values()) held.withdraw(workerIds);
  }

  /** The agent has something to learn that is no job. */
  wake(hostId: string): void {
    this.#waiting.get(hostId)?.end({ kind: "look" });
  }

  // Handing out

  /** A slot of a held agent, if there is one; the caller must give a job to it in this same turn. */
  takeSlot(): OpenSlot | undefined {
    for (const held of this.#waiting.values()) {
      const workerId = held.takeSlot();
      if (workerId === undefined) continue;
      const give = (job: Dispatched, seq: number) => {
        held.give(job);
        this.delivering(seq, held.ref);
      };
      return { workerId, hostId: held.hostId, give, putBack: () => held.putBack(workerId) };
    }
    return undefined;
  }

  /** At most `count` slots of held agents. */
  takeSlots(count: number): OpenSlot[] {
    const slots: OpenSlot[] = [];
    while (slots.length < count) {
      const slot = this.takeSlot();
      if (!slot) break;
      slots.push(slot);
    }
    return slots;
  }

  /** Ends the holds that got jobs in this turn. */
  flush(): void {
    for (const held of [...this.#waiting.values()]) {
      if (held.jobs.length > 0) held.end({ kind: "jobs", jobs: held.jobs });
    }
  }

  // Delivery

  delivering(seq: number, ref: ExchangeRef): void {
    this.#deliveries.set(seq, { session: ref.session, turn: ref.turn });
  }

  arrived(seq: number): void {
    this.#deliveries.delete(seq);
  }

  /** False for a call that was overtaken on the way: what it lists is out of date. */
  isNewest(call: ExchangeCall): boolean {
    const newest = this.#newestExchanges.get(call.hostId);
    if (newest?.session === call.session && newest.turn > call.turn) return false;
    this.#newestExchanges.set(call.hostId, { session: call.session, turn: call.turn });
    return true;
  }

  /** The job travels to its agent in a reply that was still open when the call was made. */
  isBeingDelivered(seq: number, call: ExchangeCall): boolean {
    const ref = this.#deliveries.get(seq);
    return ref?.session === call.session && call.openTurns.includes(ref.turn);
  }

  /** D3, for a job of this agent that the call, the newest one, neither holds nor reports. */
  isUndelivered(seq: number, call: ExchangeCall): boolean {
    const ref = this.#deliveries.get(seq);
    // The carrier is unknown after a restart of the object; then only a call with nothing open can tell.
    if (!ref) return call.openTurns.length === 0;
    if (ref.session !== call.session) return true;
    return ref.turn < call.turn && !call.openTurns.includes(ref.turn);
  }

  // Stops

  /** True the first time that this session of the agent is told of a stop: one telling ends a hold. */
  isNewStop(call: ExchangeCall, key: string): boolean {
    const sent = this.#sentStops.get(call.hostId);
    if (sent?.session === call.session) {
      const isNew = !sent.keys.has(key);
      sent.keys.add(key);
      return isNew;
    }
    this.#sentStops.set(call.hostId, { session: call.session, keys: new Set([key]) });
    return true;
  }

  /** Forgets stops of jobs that the agent no longer lists. */
  forgetStops(call: ExchangeCall): void {
    const sent = this.#sentStops.get(call.hostId);
    if (!sent) return;
    const held = new Set(call.running.map(({ jobId, attempt }) => `${jobId}#${attempt}`));
    for (const key of sent.keys) if (!held.has(key)) sent.keys.delete(key);
  }
}

/** One slot after the other, a round per worker, so that no worker gets all jobs while others idle. */
export function* slotsInTurn(slots: Slots): Generator<string> {
  const most = Math.max(0, ...slots.map(({ free }) => free));
  for (let round = 1; round <= most; round += 1) {
    for (const { workerId, free } of slots) if (free >= round) yield workerId;
  }
}
