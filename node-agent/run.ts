import { mkdir } from "node:fs/promises";
import type { Inventory } from "../src/contract/agent.ts";
import { Agent } from "./agent.ts";
import {
  credentialPath,
  type HostCredential,
  joinHost,
  loadCredential,
  saveCredential,
} from "./edge/host-credential.ts";
import { readInventory } from "./gpu/inventory.ts";
import { type AgentLog, createLog } from "./log.ts";
import { chooseRuntime, createRuntime, type RuntimeKind } from "./runtime/runtime-choice.ts";
import { StopRequest } from "./stop-request.ts";
import { AGENT_VERSION } from "./version.ts";

export type RunSettings = {
  readonly edgeUrl: string;
  readonly joinToken: string | undefined;
  readonly stateDir: string;
  readonly runtimeKind: RuntimeKind | undefined;
  readonly simulateGpus: boolean;
  readonly name: string;
  readonly dataCenterId: string | undefined;
  readonly isEphemeral: boolean;
  readonly metrics?: { readonly address: string; readonly port: number } | undefined;
};

/** Runs the agent until it is told to stop. Returns the exit code; throws with words for people. */
export async function runAgent(settings: RunSettings): Promise<number> {
  const log = createLog();
  const stopRequest = new StopRequest(settings);
  await mkdir(settings.stateDir, { recursive: true, mode: 0o700 });
  const { kind: runtimeKind, why } = await chooseRuntime(settings.runtimeKind);
  log.info("runtime_chosen", { runtime: runtimeKind, why });
  const read = (): Promise<Inventory> => {
    const { simulateGpus, stateDir, dataCenterId } = settings;
    return readInventory({ runtimeKind, simulateGpus, stateDirectory: stateDir, dataCenterId });
  };
  const inventory = await read();
  const credential = await credentialOf(settings, inventory, log, stopRequest.signal);
  if (!credential) return 0;
  const hasRealGpus = inventory.gpus.some((gpu) => !gpu.isSimulated);
  const agent = await Agent.start({
    edgeUrl: settings.edgeUrl,
    hostToken: credential.hostToken,
    stateDir: settings.stateDir,
    runtime: createRuntime(runtimeKind, {
      hostId: credential.hostId,
      stateDir: settings.stateDir,
      hasRealGpus,
    }),
    inventory,
    readInventory: read,
    log,
    metrics: settings.metrics,
    onConnected: () => process.stdout.write(`connected ${settings.edgeUrl} as ${settings.name}\n`),
    onUnauthorized: () => stopRequest.request("unauthorized"),
  });
  const reason = await stopRequest.wait();
  await agent.stop({ removeWorkers: settings.isEphemeral });
  if (reason === "unauthorized") throw new Error(unauthorizedWords(settings));
  return 0;
}

async function credentialOf(
  settings: RunSettings,
  inventory: Inventory,
  log: AgentLog,
  signal: AbortSignal,
): Promise<HostCredential | undefined> {
  const known = await loadCredential(settings.stateDir);
  if (known) return known;
  if (!settings.joinToken) {
    throw new Error(
      "This host has not joined an edge yet. Create a join token there and pass it with --join-token or EDGERUN_JOIN_TOKEN.",
    );
  }
  const { joinToken, name } = settings;
  const request = { joinToken, name, agentVersion: AGENT_VERSION, inventory };
  try {
    const credential = await joinHost(settings.edgeUrl, request, { log, signal });
    await saveCredential(settings.stateDir, credential);
    log.info("host_joined", { hostId: credential.hostId });
    return credential;
  } catch (error) {
    if (signal.aborted) return undefined; // stopped while it waited for the edge
    throw error;
  }
}

function unauthorizedWords({ edgeUrl, stateDir }: RunSettings): string {
  return [
    `The edge ${edgeUrl} does not accept this host's token any more: the host was removed there, or the edge's data is new.`,
    `Remove ${credentialPath(stateDir)} and start the agent with a new join token. Workers that still run are left as they are.`,
  ].join("\n");
}
