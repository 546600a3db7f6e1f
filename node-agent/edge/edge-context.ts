import type { AgentLog } from "../log.ts";
import type { Timing } from "../timing.ts";
import type { EdgeClient } from "./edge-client.ts";
import type { Reachability } from "./reachability.ts";

/** What all conversations with the edge share. */
export type EdgeContext = {
  readonly client: EdgeClient;
  readonly reachability: Reachability;
  readonly log: AgentLog;
  readonly timing: Timing;
  readonly signal: AbortSignal;
  readonly random: () => number;
  /** Called once when the edge does not accept the host token any more. */
  readonly onUnauthorized: () => void;
};
