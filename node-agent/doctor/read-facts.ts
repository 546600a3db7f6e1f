/** Looks at a host as it is; every look is bounded in time and none throws. */
import { lookup } from "node:dns/promises";
import { isInsecureUrl } from "../../src/net/public-host.ts";
import { readArtifactUsage } from "../artifacts/artifact-usage.ts";
import { keyIssue, PINNED_KEY } from "../host/agent-signature.ts";
import { fetchSignature } from "../commands/upgrade.ts";
import { EdgeClient } from "../edge/edge-client.ts";
import { type HostCredential, loadCredential } from "../edge/host-credential.ts";
import { readInventory } from "../gpu/inventory.ts";
import { readGpus } from "../gpu/nvidia-smi.ts";
import { runCommand } from "../host/command.ts";
import { readDockerFacts } from "../runtime/docker/docker-facts.ts";
import { readRuntimeVersions } from "../runtime/docker/component-versions.ts";
import type { RuntimeKind } from "../runtime/create-runtime.ts";
import { queryAgent } from "../host/status-server.ts";
import { AGENT_VERSION } from "../version.ts";
import type { EdgeFacts, HostFacts } from "./facts.ts";

const EDGE_LIMIT_MS = 10_000;

export type DoctorSettings = {
  readonly edgeUrl: string | undefined;
  readonly allowPlainHttp: boolean;
  readonly stateDir: string;
  readonly requestedRuntime: RuntimeKind | undefined;
};

export async function readFacts(settings: DoctorSettings): Promise<HostFacts> {
  const { edgeUrl, stateDir } = settings;
  const agent = await queryAgent(stateDir).catch(() => undefined);
  // An agent that runs here knows what runs its workers.
  const requestedRuntime = settings.requestedRuntime ?? agent?.runtime;
  const credential = await loadCredential(stateDir).catch(() => undefined);
  const docker = await readDockerFacts();
  const diskDirectory = docker.kind === "found" ? docker.docker.rootDirectory : stateDir;
  const [versions, iptables, gpus, driverVersion, hasToolkit, inventory, artifacts, edge] = await Promise.all(
    [
      readRuntimeVersions(true),
      readIptables(),
      readGpus(),
      readDriverVersion(),
      hasNvidiaToolkit(),
      readInventory({ runtimeKind: requestedRuntime ?? "docker", simulateGpus: true, diskDirectory }),
      readArtifactUsage(stateDir),
      readEdge(edgeUrl ?? credential?.edgeUrl, settings, credential),
    ],
  );
  return {
    nodeVersion: process.version,
    agentVersion: AGENT_VERSION,
    requestedRuntime,
    docker,
    versions,
    iptables,
    gpus,
    driverVersion,
    hasToolkit,
    diskFreeMb: inventory.diskFreeMb,
    memoryMb: inventory.memoryMb,
    artifacts,
    hostId: credential?.hostId ?? null,
    edge,
    agent: agent
      ? {
          workers: agent.workers.length,
          silentMs: agent.lastContactAt === null ? null : Date.now() - agent.lastContactAt,
        }
      : null,
  };
}

async function readIptables(): Promise<HostFacts["iptables"]> {
  const end = await runCommand("iptables", ["-w", "5", "-S", "FORWARD"]);
  if (end.kind === "absent") return "absent";
  return end.code === 0 ? "works" : { error: end.output.split("\n")[0] ?? "" };
}

async function readDriverVersion(): Promise<string | null> {
  const end = await runCommand("nvidia-smi", ["--query-gpu=driver_version", "--format=csv,noheader"]);
  return end.kind === "ended" && end.code === 0 ? (end.stdout.split("\n")[0]?.trim() ?? null) : null;
}

async function hasNvidiaToolkit(): Promise<boolean> {
  const ends = await Promise.all([
    runCommand("nvidia-ctk", ["--version"]),
    runCommand("nvidia-container-cli", ["--version"]),
  ]);
  return ends.some(({ kind }) => kind === "ended");
}

// The edge

async function readEdge(
  url: string | undefined,
  { allowPlainHttp }: DoctorSettings,
  storedCredential: HostCredential | undefined,
): Promise<EdgeFacts | null> {
  if (url === undefined) return null;
  const isUnsafe = !allowPlainHttp && isInsecureUrl(new URL(url));
  const credential = isUnsafe ? undefined : storedCredential; // the token is not sent there
  const [names, answer, signature, host] = await Promise.all([
    readNames(new URL(url).hostname),
    readAnswer(url),
    PINNED_KEY === null || isUnsafe ? null : readSignature(url, PINNED_KEY),
    credential ? readHost(url, credential) : null,
  ]);
  const { HTTPS_PROXY, HTTP_PROXY } = process.env;
  const proxy = (url.startsWith("https:") ? HTTPS_PROXY : HTTP_PROXY) ?? null;
  return { url, isUnsafe, names, proxy, host, signature, ...answer };
}

async function readNames(name: string): Promise<EdgeFacts["names"]> {
  try {
    return { addresses: (await lookup(name, { all: true })).map(({ address }) => address) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether the edge answers, and what time it has: half of the way is behind its answer. */
async function readAnswer(url: string): Promise<Pick<EdgeFacts, "error" | "clockAheadMs">> {
  const sentAt = Date.now();
  try {
    const response = await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(EDGE_LIMIT_MS) });
    const middle = (sentAt + Date.now()) / 2;
    const edgeTime = Date.parse(response.headers.get("date") ?? "");
    return { error: null, clockAheadMs: Number.isNaN(edgeTime) ? null : middle - edgeTime };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
    return { error: cause || String(error), clockAheadMs: null };
  }
}

async function readSignature(url: string, key: string): Promise<EdgeFacts["signature"]> {
  try {
    const issue = keyIssue(await fetchSignature(url), key);
    return issue === null ? "signed" : { error: issue };
  } catch {
    return null; // whether it is reached at all is said elsewhere
  }
}

function readHost(url: string, { hostToken }: HostCredential): Promise<NonNullable<EdgeFacts["host"]>> {
  const limits = { timeoutMs: EDGE_LIMIT_MS, signal: new AbortController().signal };
  return new EdgeClient(url, hostToken).host(limits);
}
