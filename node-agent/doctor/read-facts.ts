/** Looks at a host as it is; every look is bounded in time and none throws. */
import { lookup } from "node:dns/promises";
import { isReadableOnTheWay } from "../../src/contract/plain-http.ts";
import { readKeptArtifacts } from "../artifacts/kept-artifacts.ts";
import { keyFault, PINNED_KEY } from "../care/agent-signature.ts";
import { fetchSignature } from "../care/upgrade.ts";
import { EdgeClient } from "../edge/edge-client.ts";
import { type HostCredential, loadCredential } from "../edge/host-credential.ts";
import { readInventory } from "../gpu/inventory.ts";
import { readGpus } from "../gpu/nvidia-smi.ts";
import { runCommand } from "../host/command.ts";
import { readDockerFacts } from "../runtime/docker-facts.ts";
import { readRuntimeVersions } from "../runtime/runtime-versions.ts";
import type { RuntimeKind } from "../runtime/runtime-choice.ts";
import { askAgent } from "../status/status-server.ts";
import { AGENT_VERSION } from "../version.ts";
import type { EdgeFacts, HostFacts } from "./facts.ts";

const EDGE_LIMIT_MS = 10_000;

export type DoctorSettings = {
  readonly edgeUrl: string | undefined;
  readonly allowPlainHttp: boolean;
  readonly stateDir: string;
  readonly wantedRuntime: RuntimeKind | undefined;
};

export async function readFacts(settings: DoctorSettings): Promise<HostFacts> {
  const { edgeUrl, stateDir } = settings;
  const agent = await askAgent(stateDir).catch(() => undefined);
  // An agent that runs here knows what runs its workers.
  const wantedRuntime = settings.wantedRuntime ?? agent?.runtime;
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
      readInventory({ runtimeKind: wantedRuntime ?? "docker", simulateGpus: true, diskDirectory }),
      readKeptArtifacts(stateDir),
      readEdge(edgeUrl ?? credential?.edgeUrl, settings, credential),
    ],
  );
  return {
    nodeVersion: process.version,
    agentVersion: AGENT_VERSION,
    wantedRuntime,
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
  return end.code === 0 ? "works" : { fault: end.output.split("\n")[0] ?? "" };
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
  known: HostCredential | undefined,
): Promise<EdgeFacts | null> {
  if (url === undefined) return null;
  const isUnsafe = !allowPlainHttp && isReadableOnTheWay(new URL(url));
  const credential = isUnsafe ? undefined : known; // the token is not sent there
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
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether the edge answers, and what time it has: half of the way is behind its answer. */
async function readAnswer(url: string): Promise<Pick<EdgeFacts, "fault" | "clockAheadMs">> {
  const askedAt = Date.now();
  try {
    const response = await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(EDGE_LIMIT_MS) });
    const middle = (askedAt + Date.now()) / 2;
    const edgeTime = Date.parse(response.headers.get("date") ?? "");
    return { fault: null, clockAheadMs: Number.isNaN(edgeTime) ? null : middle - edgeTime };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
    return { fault: cause || String(error), clockAheadMs: null };
  }
}

async function readSignature(url: string, key: string): Promise<EdgeFacts["signature"]> {
  try {
    const fault = keyFault(await fetchSignature(url), key);
    return fault === null ? "signed" : { fault };
  } catch {
    return null; // whether it is reached at all is said elsewhere
  }
}

function readHost(url: string, { hostToken }: HostCredential): Promise<NonNullable<EdgeFacts["host"]>> {
  const limits = { timeoutMs: EDGE_LIMIT_MS, signal: new AbortController().signal };
  return new EdgeClient(url, hostToken).host(limits);
}
