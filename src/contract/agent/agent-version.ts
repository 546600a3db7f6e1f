import { EDGERUN_VERSION } from "../version.ts";

/** Version of the agents that this edge serves; an agent reports its own to the edge with every join and sync. */
export const AGENT_VERSION = EDGERUN_VERSION;
/** The oldest agent that this edge still gives work to. */
export const AGENT_VERSION_MIN = "0.1.0";
/** What runs agents: node:sqlite as the journal uses it is there from this version on. */
export const AGENT_NODE_MIN = "22.16.0";

/** Whether the first is an earlier release than the second; undefined where one of them names no release. */
export function isEarlier(a: string, b: string): boolean | undefined {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  if (!left || !right) return undefined;
  const index = left.findIndex((number, position) => number !== right[position]);
  return index >= 0 && (left[index] ?? 0) < (right[index] ?? 0);
}

function numbersOf(version: string): readonly number[] | undefined {
  const found = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version);
  return found?.slice(1).map(Number);
}
