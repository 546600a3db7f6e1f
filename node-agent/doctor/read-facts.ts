/** Looks at a host as it is; every look is bounded in time and none throws. */
import { errorMessage } from "../../src/std/errors.ts";
import { lookup } from "node:dns/promises";
import { isInsecureUrl } from "../../src/net/public-host.ts";
import { readArtifactUsage, type ArtifactUsage } from "../artifacts/artifact-directory.ts";
import { fetchSignature, keyIssue, PINNED_KEY } from "../host/agent-signature.ts";
import { EdgeClient, type EdgeOutcome } from "../edge/edge-client.ts";
import { type HostCredential, loadCredential } from "../edge/host-credential.ts";
import { readInventory } from "../gpu/inventory.ts";
import { readGpus, type GpuReading } from "../gpu/nvidia-smi.ts";
import { runCommand } from "../host/command.ts";
import { readDockerFacts, type DockerReading } from "../runtime/daemon/docker-facts.ts";
import { readRuntimeVersions, type ComponentVersion } from "../runtime/daemon/known-escapes.ts";
import type { RuntimeKind } from "../runtime/interface/runtime.ts";
import { queryAgent } from "../host/status-server.ts";
import { AGENT_VERSION } from "../../src/contract/agent/agent-version.ts";
import type { HostReply } from "../../src/contract/agent/agent.ts";

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
    return { error: errorMessage(error) };
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
    return null; // another check reports whether the edge is reached at all
  }
}

function readHost(url: string, { hostToken }: HostCredential): Promise<NonNullable<EdgeFacts["host"]>> {
  const limits = { timeoutMs: EDGE_LIMIT_MS, signal: new AbortController().signal };
  return new EdgeClient(url, hostToken).host(limits);
}

export type EdgeFacts = {
  readonly url: string;
  /** Others could read what is sent there, and no setting allows that. */
  readonly isUnsafe: boolean;
  /** Addresses behind its name, or why it has none. */
  readonly names: { readonly addresses: readonly string[] } | { readonly error: string };
  /** How far this host's clock is ahead of the edge's; null when the edge was not reached. */
  readonly clockAheadMs: number | null;
  readonly proxy: string | null;
  /** What it reports about this host; null when the host has not joined. */
  readonly host: EdgeOutcome<HostReply> | null;
  /** Whether it answers at all. */
  readonly error: string | null;
  /** Whether the agent that it serves is one that this host would install; null where this one has no key. */
  readonly signature: "signed" | { readonly error: string } | null;
};

export type HostFacts = {
  readonly nodeVersion: string;
  readonly agentVersion: string;
  /** undefined: the agent takes Docker when it is there. */
  readonly requestedRuntime: RuntimeKind | undefined;
  readonly docker: DockerReading;
  /** Versions of Docker and of what it runs containers with. */
  readonly versions: readonly ComponentVersion[];
  readonly iptables: "works" | "absent" | { readonly error: string };
  readonly gpus: GpuReading;
  readonly driverVersion: string | null;
  /** Whether the NVIDIA Container Toolkit is installed. */
  readonly hasToolkit: boolean;
  /** Free space where images and containers are, and where the agent keeps its state. */
  readonly diskFreeMb: number;
  readonly memoryMb: number;
  /** Disk that apps use on this host. */
  readonly artifacts: ArtifactUsage;
  readonly hostId: string | null;
  readonly edge: EdgeFacts | null;
  /** What the running agent reports; null when no agent runs. */
  readonly agent: { readonly workers: number; readonly silentMs: number | null } | null;
};
