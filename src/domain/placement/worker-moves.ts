/**
 * Whether a worker that keeps failing is tried on another host: its host may be broken, or full. A worker that fails
 * there as well most likely fails because of its own code, so it is not moved again and again.
 */
import type { WorkerState } from "../../contract/agent/agent.ts";

/** Failures in a row after which another host is tried, and the time after which two are enough. */
const MOVE_AFTER_FAILURES = 5;
const MOVE_AFTER_LONG_MS = 10 * 60_000;
/** How long a worker must have failed before its first move, its second and so on; there are no more than these. */
export const MOVE_PAUSES_MS: readonly number[] = [60_000, 10 * 60_000];
/** How long moves are remembered. */
export const MOVE_FORGIVEN_MS = 6 * 3_600_000;

/** Starts that failed one after the other. */
export type Failing = { readonly times: number; readonly since: number };

/** Hosts on which a worker, or those that it replaced, had failed. */
export type Moves = {
  readonly count: number;
  readonly hostIds: readonly string[];
  readonly at: number;
  /** Why it failed on the last of them. */
  readonly reason: string;
};

export type FailingWorker = {
  readonly hostId: string;
  readonly state: WorkerState;
  readonly detail: string | null;
  readonly failing: Failing | null;
  readonly moves: Moves | null;
};

const REASON_MAX_LENGTH = 300;

/** The first move comes soon, the next after a longer pause, and then no more. */
export function shouldMove({ state, failing, moves }: FailingWorker, now: number): boolean {
  if (failing === null || state === "ready" || state === "stopping") return false;
  const pauseMs = MOVE_PAUSES_MS[recentMoves(moves, now)?.count ?? 0];
  const failsForMs = now - failing.since;
  if (pauseMs === undefined || failsForMs < pauseMs) return false;
  return failing.times >= MOVE_AFTER_FAILURES || (failing.times > 1 && failsForMs >= MOVE_AFTER_LONG_MS);
}

/** The moves that its successor on another host inherits. */
export function movesAfter({ hostId, detail, moves }: FailingWorker, now: number): Moves {
  const before = recentMoves(moves, now);
  return {
    count: (before?.count ?? 0) + 1,
    hostIds: [...(before?.hostIds ?? []), hostId],
    at: now,
    reason: (detail ?? "it kept failing").slice(0, REASON_MAX_LENGTH),
  };
}

/** The detail of a worker, with that of its predecessors until it is ready. */
export function detailWithMoves({ state, detail, moves }: Omit<FailingWorker, "failing" | "hostId">) {
  if (moves === null || state === "ready" || state === "stopping") return detail;
  const hosts = moves.count === 1 ? "another host" : `${moves.count} other hosts`;
  const stays = moves.count >= MOVE_PAUSES_MS.length ? " It stays on this one." : "";
  const before = `It failed on ${hosts} before, lastly so: ${moves.reason}.${stays}`;
  return detail === null ? before : `${detail}. ${before}`;
}

/** Old failures do not count. */
function recentMoves(moves: Moves | null, now: number): Moves | null {
  return moves !== null && now - moves.at < MOVE_FORGIVEN_MS ? moves : null;
}
