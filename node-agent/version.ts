/** Told to the edge with every join and sync. */
export const AGENT_VERSION = "0.1.0";
