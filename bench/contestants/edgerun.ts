/**
 * Edgerun with a scripted agent: the edge as `npm start` runs it, and one process that speaks the agent
 * protocol and answers jobs itself. The counterpart of a BullMQ worker process.
 */
import { createJoinToken } from "../../standalone/management-api.ts";
import { effectiveLimit } from "../../src/domain/limits/rate-window.ts";
import { Child } from "../process/child.ts";
import type { AgentCommands, AgentSettings } from "./agent-process.ts";
import { budgetBy, type CommandedWorker, type Contestant } from "./contestant.ts";
import { createEndpoint, Edge } from "./edge.ts";
import { wakeTimes } from "./edge-wake.ts";
import { fillTo } from "./queue-filler.ts";

/**
 * The limits of an endpoint grow with its workers. So many ready ones admit more requests than this machine
 * can send, with the limits on; the slots of the agent are what takes jobs.
 */
const READY_WORKERS = 256;

export async function startEdgerun(): Promise<Contestant> {
  const edge = await Edge.start();
  const contestant = await edgerunOn(edge);
  return {
    ...contestant,
    async [Symbol.asyncDispose]() {
      await contestant[Symbol.asyncDispose]();
      await edge[Symbol.asyncDispose]();
    },
  };
}

/** The endpoint and the agent on an edge that runs; disposing of it leaves the edge. */
export async function edgerunOn(
  edge: Edge,
  { knowsShards = false }: Pick<AgentSettings, "knowsShards"> = {},
): Promise<Contestant & { readonly worker: CommandedWorker }> {
  const api = edge.management;
  const endpointId = await createEndpoint(api, { name: "bench", workers: READY_WORKERS });
  const settings: AgentSettings = {
    edgeUrl: edge.url,
    joinToken: await createJoinToken(api, "bench"),
    endpointId,
    workers: READY_WORKERS,
    knowsShards,
  };
  const agent = await Child.start<AgentCommands>(new URL("agent-process.ts", import.meta.url), settings);
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
    [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose](),
  };
}

/** What the limits admit in one window. */
export function budgetOf(workers: number): Contestant["budget"] {
  return budgetBy((operation) => effectiveLimit(operation, workers).requests);
}
