/** How the edge treats agents of other versions than its own. */
import type { AgentNotice } from "../../contract/agent/agent.ts";
import { AGENT_VERSION, AGENT_VERSION_MIN, isEarlier } from "../../contract/agent/agent-version.ts";

/** `outdated` agents work; `refused` ones get no new work and finish what they have. */
export type AgentAge = "current" | "outdated" | "refused";

/** A version that is no release number is that of a development build, and counts as current. */
export function ageOfAgent(version: string): AgentAge {
  if (isEarlier(version, AGENT_VERSION_MIN)) return "refused";
  return isEarlier(version, AGENT_VERSION) ? "outdated" : "current";
}

/** The notice for the owner of the host; undefined for a current agent. */
export function noticeFor(version: string): AgentNotice | undefined {
  const how = "On this host, run: sudo edgerun-agent upgrade";
  switch (ageOfAgent(version)) {
    case "current":
      return undefined;
    case "outdated":
      return {
        kind: "outdated",
        message: `Agent ${version} works, and the edge has ${AGENT_VERSION}. ${how}`,
      };
    case "refused":
      return {
        kind: "refused",
        message: `Agent ${version} is too old for this edge, which needs ${AGENT_VERSION_MIN} or later: it gets no work. ${how}`,
      };
  }
}

/** Whether a host loses its workers: its owner drains it, or its agent is too old for this edge. */
export function isDraining(host: { readonly isDrained: boolean; readonly agentVersion: string }): boolean {
  return host.isDrained || ageOfAgent(host.agentVersion) === "refused";
}
