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

/** `calls` are those of one job, at most 30. */
export function isLinearizable(calls: readonly JobCall[]): boolean {
  const tried = new Set<string>();
  const all = calls.flatMap(({ answer }, index) => (answer ? [index] : []));

  function search(done: number, state: State): boolean {
    const left = all.filter((index) => (done & (1 << index)) === 0);
    if (left.length === 0) return true;
    const key = `${done} ${state}`;
    if (tried.has(key)) return false;
    tried.add(key);
    const firstEnd = Math.min(...left.map((index) => calls[index]?.answer?.at ?? Infinity));
    if (state === "OPEN" && BY_ITSELF.some((end) => search(done, end))) return true;
    return calls.some((call, index) => {
      if ((done & (1 << index)) !== 0 || call.sentAt > firstEnd) return false;
      return afterCall(state, call).some((next) => search(done | (1 << index), next));
    });
  }

  return search(0, "OPEN");
}
