/**
 * Edgerun with a scripted agent: the edge as `npm start` runs it, and one process that speaks the agent
 * protocol and answers jobs itself. The counterpart of a BullMQ worker process.
 */
import { createJoinToken } from "../../scripts/start/management-api.ts";
import { effectiveLimit } from "../../src/domain/rate-limit.ts";
import { Child } from "../process/child.ts";
import type { AgentCommands, AgentSettings } from "./agent-process.ts";
import { budgetBy, type Contestant } from "./contestant.ts";
import { createEndpoint, Edge } from "./edge.ts";
import { wakeTimes } from "./edge-wake.ts";
import { fillTo } from "./queue-filler.ts";

/**
 * The limits of an endpoint grow with its workers. So many ready ones admit more requests than this machine
 * can send, with the limits on; the slots of the agent are what takes jobs.
 */
const READY_WORKERS = 256;

export async function startEdgerun(): Promise<Contestant> {
  const stack = new AsyncDisposableStack();
  const edge = stack.use(await Edge.start());
  const api = edge.management;
  const endpointId = await createEndpoint(api, { name: "bench", workers: READY_WORKERS });
  const settings: AgentSettings = {
    edgeUrl: edge.url,
    joinToken: await createJoinToken(api, "bench"),
    endpointId,
    workers: READY_WORKERS,
  };
  const agent = stack.use(
    await Child.start<AgentCommands>(new URL("agent-process.ts", import.meta.url), settings),
  );
  return {
    name: "edgerun",
    api: { baseUrl: `${edge.url}/v2/${endpointId}`, apiKey: edge.apiKey },
    roles: () => ({ edge: edge.pids, agent: [agent.pid] }),
    budget: budgetOf(READY_WORKERS),
    worker: {
      pause: () => agent.ask("pause", null),
      resume: () => agent.ask("resume", null),
      drain: (jobs) => agent.ask("drain", jobs),
      claim: (jobs) => agent.ask("claim", jobs),
      fillTo: (depth) => fillTo(edge, endpointId, depth),
    },
    wake: () => wakeTimes(edge, endpointId),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** What the limits admit in one window. */
export function budgetOf(workers: number): Contestant["budget"] {
  return budgetBy((operation) => effectiveLimit(operation, workers).requests);
}
