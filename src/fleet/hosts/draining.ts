import { ageOfAgent } from "../../domain/placement/agent-support.ts";
import type { HostRecord } from "../fleet-store.ts";

/** Whether a host loses its workers: its owner wants it so, or its agent is too old for this edge. */
export function isDraining(host: Pick<HostRecord, "isDrained" | "agentVersion">): boolean {
  return host.isDrained || ageOfAgent(host.agentVersion) === "refused";
}
