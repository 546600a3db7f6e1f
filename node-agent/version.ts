/** Told to the edge with every join and sync. */
export { AGENT_VERSION } from "../src/contract/agent/agent-version.ts";
