import type { WorkerReport, WorkerState } from "../../src/contract/agent/agent.ts";

/** What a worker is, for people; edges hear of standby in words that older ones know, too. */
export function displayState({ state, isStandby }: Pick<WorkerReport, "state" | "isStandby">): WorkerState {
  return isStandby ? "standby" : state;
}
