/**
 * Whether what clients were told of a job can have happened one after the other, each between its request and its
 * answer: the search of Wing and Gong, over a job that also runs by itself.
 */

/** A call of a client; times are true time in ms. */
export type JobCall = {
  /** A purge cancels a job that waits, and leaves one that runs. */
  readonly kind: "read" | "cancel" | "retry" | "purge";
  readonly sentAt: number;
  /** Null when no answer came: then it may have taken effect at any later time, or never. */
  readonly answer: { readonly at: number; readonly status: string | null } | null;
};

/** A job that waits or runs is open; what it is of both may change at any time. */
type State = "OPEN" | "COMPLETED" | "FAILED" | "TIMED_OUT" | "CANCELLED";

const OPEN = new Set(["IN_QUEUE", "IN_PROGRESS"]);
/** How an open job may end by itself. */
const BY_ITSELF: readonly State[] = ["COMPLETED", "FAILED", "TIMED_OUT"];

/** The states that a call may leave; none when it cannot have been answered so. */
function afterCall(state: State, { kind, answer }: JobCall): readonly State[] {
  const told = answer?.status;
  const says = (next: State): readonly State[] => {
    if (told === undefined) return [next];
    return told === next || (next === "OPEN" && OPEN.has(told ?? "")) ? [next] : [];
  };
  if (kind === "purge") return state === "OPEN" ? ["OPEN", "CANCELLED"] : [state];
  if (kind === "read") return says(state);
  if (kind === "cancel") return says(state === "OPEN" ? "CANCELLED" : state);
  const isRetryable = state === "FAILED" || state === "TIMED_OUT";
  if (isRetryable) return says("OPEN");
  return told === null || told === undefined ? [state] : []; // refused
}

/** The search takes no longer: calls of histories need a few hundred. */
const STEPS_MAX = 50_000;

/** Whether some order explains the calls about one job. Throws when the search takes too long. */
export function isLinearizable(calls: readonly JobCall[]): boolean {
  return new Search(calls).reaches(0n, "OPEN");
}

class Search {
  readonly #calls: readonly JobCall[];
  /** Calls that were answered, the first answers first. */
  readonly #answered: readonly number[];
  readonly #failed = new Set<string>();
  #steps = 0;

  constructor(calls: readonly JobCall[]) {
    this.#calls = calls.toSorted((one, other) => one.sentAt - other.sentAt);
    const answered = this.#calls.flatMap(({ answer }, index) => (answer ? [{ index, at: answer.at }] : []));
    this.#answered = answered.toSorted((one, other) => one.at - other.at).map(({ index }) => index);
  }

  /** Whether the calls that are not `done`, a bit each, can follow when the job is in the state. */
  reaches(done: bigint, state: State): boolean {
    const first = this.#answered.find((index) => !isIn(done, index));
    if (first === undefined) return true;
    const key = `${done} ${state}`;
    if (this.#failed.has(key)) return false;
    if ((this.#steps += 1) > STEPS_MAX) throw new Error(`${this.#calls.length} calls have too many orders.`);
    const found = this.#next(done, state, this.#calls[first]?.answer?.at ?? Infinity);
    if (!found) this.#failed.add(key);
    return found;
  }

  /** What only says what the job is comes at once: it is in nobody's way, and later it may be wrong. */
  #next(done: bigint, state: State, firstEnd: number): boolean {
    const ready = this.#ready(done, firstEnd);
    const plain = ready.find((index) => isPlain(state, this.#calls[index]));
    if (plain !== undefined) return this.reaches(withBit(done, plain), state);
    if (state === "OPEN" && BY_ITSELF.some((end) => this.reaches(done, end))) return true;
    return ready.some((index) => {
      const call = this.#calls[index];
      const states = call ? afterCall(state, call) : [];
      return states.some((next) => this.reaches(withBit(done, index), next));
    });
  }

  /** Calls that may be next: they were sent before any of the others was answered. Of equal ones the first will do. */
  #ready(done: bigint, firstEnd: number): readonly number[] {
    const unanswered = new Set<string>();
    const ready: number[] = [];
    for (const [index, { kind, sentAt, answer }] of this.#calls.entries()) {
      if (sentAt > firstEnd) break;
      if (isIn(done, index) || (!answer && unanswered.has(kind))) continue;
      if (!answer) unanswered.add(kind);
      ready.push(index);
    }
    return ready;
  }
}

/** It was answered, is no purge, and leaves the job as it is. */
function isPlain(state: State, call: JobCall | undefined): boolean {
  if (!call?.answer || call.kind === "purge") return false;
  const [next, ...others] = afterCall(state, call);
  return next === state && others.length === 0;
}

function isIn(set: bigint, index: number): boolean {
  return ((set >> BigInt(index)) & 1n) === 1n;
}

function withBit(set: bigint, index: number): bigint {
  return set | (1n << BigInt(index));
}
