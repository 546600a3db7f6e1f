/** A load-balanced endpoint with one worker in a container, on a real edge with a real agent. */
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Dockerode from "dockerode";
import getPort from "get-port";
import { ensureNodeApp } from "../../scripts/images/node-image.ts";
import { startAgent } from "../../standalone/agent.ts";
import { createJoinToken, type ManagementApi } from "../../standalone/management-api.ts";
import type { Edge } from "../contestants/edge.ts";
import type { Way } from "../http-load/comparison.ts";
import { childrenOf } from "../process/cpu-time.ts";

const SERVER = join(import.meta.dirname, "server.mjs");
const SERVER_PORT = 8_080;
const LOOK_MS = 200;

export type BalancedEndpoint = {
  /** Straight to the container. */
  readonly baseline: Way;
  readonly balanced: Way;
  readonly agentPid: number;
  readonly agentInspectorPort: number;
  /** Processes of the container. */
  readonly serverPids: readonly number[];
};

/** Resolves when the worker answers. */
export async function startBalancedEndpoint(
  edge: Edge,
  stack: AsyncDisposableStack,
): Promise<BalancedEndpoint> {
  const { image } = await ensureNodeApp("edgerun-bench/server", SERVER);
  const agentInspectorPort = await getPort({ host: "127.0.0.1" });
  process.env["NODE_OPTIONS"] = `--inspect=127.0.0.1:${agentInspectorPort}`;
  const agent = await startAgent({
    program: resolve(import.meta.dirname, "../../node-agent/main.ts"),
    edgeUrl: edge.url,
    stateDirectory: join(edge.stateDirectory, "agent"),
    logPath: join(edge.stateDirectory, "agent.log"),
    runtime: "docker",
    joinToken: await createJoinToken(edge.management, "bench"),
  });
  delete process.env["NODE_OPTIONS"];
  stack.defer(() => agent.stop());
  const id = await createEndpoint(edge.management, image);
  const headers = { authorization: `Bearer ${edge.apiKey}` };
  const balanced = { name: "edgerun", target: { origin: edge.url, prefix: `/lb/${id}`, headers } };
  await untilAnswered(`${edge.url}/lb/${id}/small`, headers);
  const { address, pid } = await containerOf(id);
  const origin = `http://${address}:${SERVER_PORT}`;
  return {
    baseline: { name: "direct", target: { origin, prefix: "", headers: {} } },
    balanced,
    agentPid: agent.pid,
    agentInspectorPort,
    serverPids: [pid, ...childrenOf(pid)],
  };
}

async function createEndpoint(api: ManagementApi, imageName: string): Promise<string> {
  const env = Object.entries({ PORT: String(SERVER_PORT) }).map(([key, value]) => ({ key, value }));
  const input = {
    name: "bench-balanced",
    type: "LB",
    scalerType: "REQUEST_COUNT",
    scalerValue: 1_000,
    gpuIds: "ADA_24",
    workersMin: 1,
    workersMax: 1,
    template: { imageName, dockerArgs: "", containerDiskInGb: 5, env },
  };
  const { saveEndpoint } = await api.query<{ saveEndpoint: { id: string } }>(
    "mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id } }",
    { input },
  );
  return saveEndpoint.id;
}

async function untilAnswered(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
  for (;;) {
    const reply = await fetch(url, { headers });
    const text = await reply.text();
    if (reply.ok) return;
    console.log(`${reply.status}: ${text.slice(0, 300)}`);
    await delay(LOOK_MS);
  }
}

async function containerOf(endpointId: string): Promise<{ address: string; pid: number }> {
  const docker = new Dockerode();
  const [found] = await docker.listContainers({ filters: { label: [`edgerun.endpoint=${endpointId}`] } });
  if (!found) throw new Error("The worker has no container.");
  const { NetworkSettings, State } = await docker.getContainer(found.Id).inspect();
  const [network] = Object.values(NetworkSettings.Networks);
  return { address: network?.IPAddress ?? "", pid: State.Pid };
}
