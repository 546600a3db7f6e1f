/** Edgerun with everything that is real: edge, agent, and worker processes of examples/hello. */
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createJoinToken } from "../../standalone/management-api.ts";
import { startAgent } from "../../standalone/agent.ts";
import type { Contestant } from "./contestant.ts";
import { createEndpoint, Edge } from "./edge.ts";
import { budgetOf } from "./edgerun.ts";
import { childrenOf } from "../process/cpu-time.ts";

/** Each runs one job at a time, as most GPU workers do. */
const WORKERS = 8;
const LOOK_AGAIN_MS = 100;
const ROOT = resolve(import.meta.dirname, "../..");

export async function startEdgerunWhole(): Promise<Contestant> {
  const stack = new AsyncDisposableStack();
  const edge = stack.use(await Edge.start());
  const api = edge.management;
  const agent = await startAgent({
    program: join(ROOT, "node-agent/main.ts"),
    edgeUrl: edge.url,
    stateDirectory: join(edge.stateDirectory, "agent"),
    logPath: join(edge.stateDirectory, "agent.log"),
    runtime: "process",
    joinToken: await createJoinToken(api, "bench"),
  });
  stack.defer(() => agent.stop());
  const command = `node ${join(ROOT, "examples/hello/worker.mjs")}`;
  const endpointId = await createEndpoint(api, { name: "bench", workers: WORKERS, command });
  const target = { baseUrl: `${edge.url}/v2/${endpointId}`, apiKey: edge.apiKey };
  await untilReady(target, WORKERS);
  return {
    name: "edgerun-whole",
    api: target,
    roles: () => ({ edge: edge.pids, agent: [agent.pid], workers: childrenOf(agent.pid) }),
    budget: budgetOf(WORKERS),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function untilReady({ baseUrl, apiKey }: Contestant["api"], workers: number): Promise<void> {
  for (;;) {
    const reply = await fetch(`${baseUrl}/health`, { headers: { authorization: `Bearer ${apiKey}` } });
    const health = (await reply.json()) as { workers?: { idle: number } };
    if (health.workers?.idle === workers) return;
    await delay(LOOK_AGAIN_MS);
  }
}
