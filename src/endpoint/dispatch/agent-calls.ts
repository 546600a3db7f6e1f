/** What an endpoint's object has learned from the calls of the agent of one host since it has its memory. */
import type { ExchangeCall } from "../messages.ts";

/** The calls of those before are no longer on their way. */
const PAST_SESSIONS_MAX = 4;

/** Turns that are remembered after they were over. */
const TURNS_REMEMBERED = 16;
/** At most so many, also of an agent that says that one of its first replies is still open. */
const TURNS_MAX = 1_000;

/** In which turn a stop was last sent, and how often. */
type SentStop = { readonly turn: number; readonly times: number };

/** A job that an agent lists with its result is listed until the result is at the edge, however often it is stopped. */
const STOP_TIMES_MAX = 4;

export class AgentCalls {
  /** That of the newest call. */
  #session: string | undefined;
  #newestTurn = 0;
  /** Turns of the session whose replies are known. */
  #turns = new Set<number>();
  /** Stops that the session was sent, by attempt. */
  #stops = new Map<string, SentStop>();
  /** Sessions that are over. */
  #past: readonly string[] = [];

  /** True for the first call of a process of the agent, and for its first one after a loss of memory. */
  isNewSession({ session }: Pick<ExchangeCall, "session">): boolean {
    return !this.isPast(session) && this.#session !== session;
  }

  /** D4 */
  isPast(session: string): boolean {
    return this.#past.includes(session);
  }

  /** Notes a call. False for one that was overtaken on its way, so that its lists are out of date: it gets no jobs. */
  take(call: ExchangeCall): boolean {
    if (this.isPast(call.session)) return false;
    if (this.#session !== call.session) this.#begin(call.session);
    this.#notePast(call);
    const isNewest = call.turn >= this.#newestTurn;
    this.#newestTurn = Math.max(call.turn, this.#newestTurn);
    this.#addTurn(call);
    return isNewest;
  }

  #begin(session: string): void {
    this.#session = session;
    this.#newestTurn = 0;
    this.#turns = new Set();
    this.#stops = new Map();
  }

  #notePast({ previousSession }: ExchangeCall): void {
    if (previousSession === undefined || this.isPast(previousSession)) return;
    this.#past = [...this.#past.slice(1 - PAST_SESSIONS_MAX), previousSession];
  }

  #addTurn({ turn, openTurns }: ExchangeCall): void {
    const oldest = Math.min(turn, ...openTurns) - TURNS_REMEMBERED;
    for (const other of this.#turns) if (other < oldest) this.#turns.delete(other);
    const [first = turn] = this.#turns;
    if (this.#turns.size >= TURNS_MAX) this.#turns.delete(first);
    this.#turns.add(turn);
  }

  /** Every reply that was open when the call was made is known. */
  knowsReplies({ session, openTurns }: ExchangeCall): boolean {
    return this.#session === session && openTurns.every((open) => this.#turns.has(open));
  }

  /**
   * True when a stop shall be sent to this session, for only then it ends a wait: the first time, and again when the
   * answer with it is over and the agent still lists the job.
   */
  isNewStop(call: ExchangeCall, attempt: string): boolean {
    if (this.isPast(call.session)) return false;
    const last = this.#stops.get(attempt);
    if (last && !mayBeLost(last, call)) return false;
    this.#stops.set(attempt, { turn: call.turn, times: (last?.times ?? 0) + 1 });
    return true;
  }

  /** Forgets stops of attempts that the agent no longer lists. */
  forgetStops({ running }: ExchangeCall): void {
    if (this.#stops.size === 0) return;
    const listed = new Set(running.map(({ jobId, attempt }) => `${jobId}#${attempt}`));
    for (const attempt of this.#stops.keys()) if (!listed.has(attempt)) this.#stops.delete(attempt);
  }
}

function mayBeLost({ turn, times }: SentStop, call: ExchangeCall): boolean {
  return turn < call.turn && !call.openTurns.includes(turn) && times < STOP_TIMES_MAX;
}
