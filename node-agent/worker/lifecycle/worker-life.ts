import { LIVE_RESTART_EXIT_CODE, LIVE_VARIABLE } from "../../../src/contract/flash/flash-live.ts";

/** Everything that decides whether the running container of a worker stays alive. */
export type LifeFacts = {
  readonly hasExited: boolean;
  readonly isDraining: boolean;
  /** It asked to be recreated after its jobs. */
  readonly isRefreshing: boolean;
  /** All that it still runs is unwanted and did not stop when requested. */
  readonly needsHardStop: boolean;
  /** It should be frozen as soon as possible. */
  readonly isStandby: boolean;
  readonly isFrozen: boolean;
  /** It has no job and no request. */
  readonly isIdle: boolean;
  readonly wasReady: boolean;
  readonly runsForMs: number;
  readonly startLimitMs: number;
  /** For how long it could have asked for a job and did not, or was not healthy. */
  readonly silentForMs: number;
  readonly silenceLimitMs: number;
  /** Several jobs in a row got no result. */
  readonly hasLostResults: boolean;
};

export type LifeDecision =
  | { readonly kind: "live"; readonly forMs: number | null }
  | { readonly kind: "freeze" | "thaw" }
  | { readonly kind: "end"; readonly reason: LifeEnd };

export type LifeEnd =
  | "exited"
  | "hard_stop"
  | "drained"
  | "refresh"
  | "start_limit"
  | "silent"
  | "mute"
  | "standby_failed";

/**
 * Decides whether a container lives on, and for how long at most until this must be decided again. One that was
 * never ready has nothing that would be worth freezing.
 */
export function decideLife(facts: LifeFacts): LifeDecision {
  if (facts.hasExited) return end("exited");
  if (facts.isDraining && facts.isIdle) return end("drained");
  if (facts.needsHardStop) return end("hard_stop");
  if (facts.isRefreshing && facts.isIdle) return end("refresh");
  if (facts.hasLostResults) return end("mute");
  if (facts.isFrozen) return facts.isStandby ? { kind: "live", forMs: null } : { kind: "thaw" };
  if (facts.isStandby && facts.isIdle && facts.wasReady) return { kind: "freeze" };
  if (facts.wasReady) return decideSilence(facts);
  if (facts.runsForMs >= facts.startLimitMs) return end("start_limit");
  return { kind: "live", forMs: facts.startLimitMs - facts.runsForMs };
}

/** A worker without jobs always has a poll open: the moments between two are short. */
function decideSilence({ silentForMs, silenceLimitMs }: LifeFacts): LifeDecision {
  if (silentForMs >= silenceLimitMs) return end("silent");
  return { kind: "live", forMs: silentForMs === 0 ? null : silenceLimitMs - silentForMs };
}

function end(reason: LifeEnd): LifeDecision {
  return { kind: "end", reason };
}

export type Recreation = "refresh" | "hard_stop" | "new_code";

export type RecreationFacts = {
  /** Its handler has asked for a new container. */
  readonly isRefreshing: boolean;
  /** No container follows it. */
  readonly isDraining: boolean;
  readonly wasReady: boolean;
  readonly exitCode: number | null;
  /** Variables of its container; undefined where they are not known. */
  readonly env: Readonly<Record<string, string>> | undefined;
};

/**
 * The reason of a planned end; null for a failure, and for a worker that is drained. An exit code is believed of live
 * workers only, whose program is ours, and only once they were ready: what ends at its start would be started for ever.
 */
export function recreationOf(end: LifeEnd | null, facts: RecreationFacts): Recreation | null {
  if (facts.isDraining) return null;
  if (end === "hard_stop" || end === "refresh") return end;
  if (end !== "exited") return null;
  if (facts.isRefreshing) return "refresh";
  const isLive = facts.env?.[LIVE_VARIABLE] !== undefined;
  return isLive && facts.wasReady && facts.exitCode === LIVE_RESTART_EXIT_CODE ? "new_code" : null;
}
