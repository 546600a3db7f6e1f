/** What an edge makes of an agent that is not of its own release. */
import type { AgentNotice } from "../../contract/agent/agent.ts";
import { AGENT_VERSION, AGENT_VERSION_MIN, isEarlier } from "../../contract/agent/agent-version.ts";

/** `outdated` agents work; `refused` ones get no work, and finish what they have. */
export type AgentAge = "current" | "outdated" | "refused";

/** A version that names no release is that of a development build, and taken for current. */
export function ageOfAgent(version: string): AgentAge {
  if (isEarlier(version, AGENT_VERSION_MIN)) return "refused";
  return isEarlier(version, AGENT_VERSION) ? "outdated" : "current";
}

/** What the agent shall tell its owner of its age; undefined when there is nothing to say. */
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
