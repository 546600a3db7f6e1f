/** Why a worker gets a new container although nothing has failed. */
import { LIVE_RESTART_EXIT_CODE, LIVE_VARIABLE } from "../../../src/contract/flash/flash-live.ts";
import type { LifeEnd } from "./worker-life.ts";

export type Recreation = "refresh" | "hard_stop" | "new_code";

export type RecreationFacts = {
  /** Its handler has asked for a new container. */
  readonly isRefreshing: boolean;
  /** Nothing comes after it. */
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
  const isLive = facts.env?.[LIVE_VARIABLE] === "true";
  return isLive && facts.wasReady && facts.exitCode === LIVE_RESTART_EXIT_CODE ? "new_code" : null;
}
