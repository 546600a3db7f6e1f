import type { WorkerReport, WorkerState } from "../../src/contract/agent.ts";

/** What a worker is, for people; edges hear of standby in words that older ones know, too. */
export function shownState({ state, isStandby }: Pick<WorkerReport, "state" | "isStandby">): WorkerState {
  return isStandby ? "standby" : state;
}
