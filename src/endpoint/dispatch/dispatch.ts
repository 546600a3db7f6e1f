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
import { AgentCalls } from "./agent-calls.ts";
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
  /** By host. */
  readonly #agents = new Map<string, AgentCalls>();

  callsOf(hostId: string): AgentCalls {
    const calls = this.#agents.get(hostId) ?? new AgentCalls();
    this.#agents.set(hostId, calls);
    return calls;
  }

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
      const calls = this.callsOf(call.hostId);
      const isLater = isMadeAfter(startedAt, call);
      const holder = this.#holders.get(seq);
      const wasHeldBefore = holder !== undefined && holder !== call.session;
      // What an earlier process of the agent had, this one has from there or not at all, whatever replies are open.
      if (wasHeldBefore && (isLater || calls.isPast(holder))) return true;
      return isLater && calls.knowsReplies(call);
    }
    if (ref.session !== call.session) return true;
    return ref.turn < call.turn && !call.openTurns.includes(ref.turn);
  }
}

/** A call that knows of a later reply was made after that time. */
function isMadeAfter(at: number, { newestReplyAt }: ExchangeCall): boolean {
  return newestReplyAt !== undefined && newestReplyAt > at;
}

/** The workers of the slots in rounds, so that no worker gets all jobs while others are idle. */
export function* slotsInTurn(slots: Slots): Generator<string> {
  const most = Math.max(0, ...slots.map(({ free }) => free));
  for (let round = 1; round <= most; round += 1) {
    for (const { workerId, free } of slots) if (free >= round) yield workerId;
  }
}
