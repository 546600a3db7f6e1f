import { errorMessage } from "../src/std/errors.ts";
import { chmod, mkdir } from "node:fs/promises";
import type { Inventory } from "../src/contract/agent/agent.ts";
import { Agent } from "./agent.ts";
import {
  type HostCredential,
  joinHost,
  loadCredential,
  saveCredential,
  setCredentialAside,
  readJoinTokenFile,
  removeJoinTokenFile,
} from "./edge/host-credential.ts";
import { readInventory } from "./gpu/inventory.ts";
import { interfaceOf } from "./core/interfaces.ts";
import { type AgentLog, createLog, type LogLevel } from "./core/log.ts";
import { EXIT_FATAL, Failure } from "../src/std/failure.ts";
import { areOnOneDisk } from "./disk/disk-space.ts";
import { dockerRoot } from "./runtime/daemon/docker-calls.ts";
import { Desktop, readDesktopGpus } from "./runtime/docker/desktop.ts";
import { DockerRuntime } from "./runtime/docker/docker-runtime.ts";
import { chooseRuntime, createRuntime } from "./runtime/create-runtime.ts";
import type { Runtime, RuntimeKind } from "./runtime/interface/runtime.ts";
import {
  describeEscape,
  escapesOf,
  type ComponentVersion,
  readRuntimeVersions,
} from "./runtime/daemon/known-escapes.ts";
import { StatusServer } from "./host/status-server.ts";
import { StopRequest } from "./stop-request.ts";
import { AGENT_VERSION } from "../src/contract/agent/agent-version.ts";
import { Volumes } from "./disk/volumes.ts";
import type { PortRange } from "./pods/pod-store.ts";

/** The options of `edgerun-agent run`; paths are absolute. */
export type RunSettings = {
  /** Checked, without a trailing slash. */
  readonly edge: string;
  readonly joinToken?: string;
  /** The state directory. */
  readonly state: string;
  readonly runtime?: RuntimeKind;
  /** Holds the package `edgerun`; absent: the interpreters have it themselves, or there are no live workers. */
  readonly pythonPackage?: string;
  readonly simulateGpus: boolean;
  /** A developer's computer: containers share its GPUs, and Docker may run in a virtual machine. */
  readonly desktop: boolean;
  readonly name: string;
  readonly dataCenter?: string;
  readonly ephemeral: boolean;
  readonly diskReserveGb: number;
  readonly modelCacheGb: number;
  /** Name of the workers' Docker network. */
  readonly network?: string;
  readonly allowNetwork: readonly string[];
  readonly allowOpenNetwork: boolean;
  readonly allowRegistry: readonly string[];
  /** Workers run also where images are known to get out of their containers. */
  readonly allowOldRuntime: boolean;
  /** The directory of network volumes. */
  readonly volumes: string;
  readonly createVolumes: boolean;
  /** Address at which clients reach published ports of pods; absent: none are published. */
  readonly publicAddress?: string;
  readonly publicPorts: PortRange;
  /** Address at which the other hosts of the account reach pods of clusters; absent: they do not. */
  readonly clusterAddress?: string;
  /** Where the MPS daemon of this machine listens; absent where its owner runs none. */
  readonly mpsDirectory?: string;
  readonly metricsPort?: number;
  readonly metricsAddress: string;
  readonly logLevel: LogLevel;
};

/** It holds the host's token, inputs and results. */
const OWNER_ONLY = 0o700;
const GIGABYTE = 1_000_000_000;
/** Workers share the real GPUs of a desktop, so it offers enough for any app. */
const DESKTOP_GPUS_PER_TIER = 16;
/** As the inventory counts. */
const MEGABYTE = 1024 * 1024;

/** Runs the agent until a stop is requested. Returns the exit code; throws with a message for users. */
export async function runAgent(settings: RunSettings): Promise<number> {
  const log = createLog(settings.logLevel);
  const stopRequest = new StopRequest({ isEphemeral: settings.ephemeral });
  await mkdir(settings.state, { recursive: true, mode: OWNER_ONLY });
  await chmod(settings.state, OWNER_ONLY); // an existing one keeps its mode
  const { kind: runtimeKind, why } = await chooseRuntime(settings.runtime);
  log.info("runtime_chosen", { runtime: runtimeKind, why });
  const diskDirectory = (runtimeKind === "docker" ? await dockerRoot() : null) ?? settings.state;
  const volumes = new Volumes({ directory: settings.volumes, createsMissing: settings.createVolumes });
  const { simulateGpus, desktop: isDesktop, dataCenter: dataCenterId } = settings;
  const simulatedPerTier = isDesktop ? DESKTOP_GPUS_PER_TIER : undefined;
  const { publicAddress, publicPorts, clusterAddress } = settings;
  const clusters = () => clusterOffer(settings, runtimeKind);
  const gpuFacts = { simulateGpus, simulatedPerTier };
  const facts = {
    runtimeKind,
    ...gpuFacts,
    diskDirectory,
    dataCenterId,
    volumes,
    publicAddress,
    clusters,
  };
  const read = (): Promise<Inventory> => readInventory(facts);
  const inventory = await read();
  const desktopGpus = isDesktop && runtimeKind === "docker" ? await readDesktopGpus() : [];
  const hasRealGpus = desktopGpus.length > 0 || inventory.gpus.some((gpu) => !gpu.isSimulated);
  const versions = runtimeKind === "docker" ? await readRuntimeVersions(hasRealGpus) : [];
  requireIsolation(versions, settings.allowOldRuntime, log);
  const credential = await credentialOf(settings, inventory, log, stopRequest.signal);
  if (!credential) return 0;
  const runtime = createRuntime(runtimeKind, {
    hostId: credential.hostId,
    stateDir: settings.state,
    hasRealGpus,
    clearsPreloads: escapesOf(versions).some(({ component }) => component === "NVIDIA Container Toolkit"),
    pythonPackage: settings.pythonPackage,
    volumes,
    log,
    diskReserveBytes: settings.diskReserveGb * GIGABYTE,
    modelCacheBytes: settings.modelCacheGb * GIGABYTE,
    isStateBesideImages: await areOnOneDisk(diskDirectory, settings.state),
    desktop: isDesktop ? new Desktop(desktopGpus) : undefined,
    ...(settings.network !== undefined && { networkName: settings.network }),
    clusterAddress,
    mpsDirectory: settings.mpsDirectory,
    allowedNetworks: settings.allowNetwork,
    isOpenNetworkAllowed: settings.allowOpenNetwork,
    allowedRegistries: settings.allowRegistry,
  });
  const { metricsPort: port, metricsAddress: address } = settings;
  const agent = await Agent.start({
    edgeUrl: settings.edge,
    hostToken: credential.hostToken,
    stateDir: settings.state,
    runtime,
    inventory,
    readInventory: async () => withFreeable(await read(), await runtime.freeableBytes()),
    log,
    publicPorts,
    metrics: port === undefined ? undefined : { address, port },
    onConnected: () => {
      process.stdout.write(`connected ${settings.edge} as ${settings.name}\n`);
      void removeJoinTokenFile(settings.state);
    },
    onUnauthorized: () => stopRequest.request("unauthorized"),
  });
  const status = await serveStatus(settings, credential, runtimeKind, agent, log);
  const reason = await stopRequest.wait();
  await status?.close();
  // The work of a host that the edge no longer knows is lost.
  await agent.stop({ removeWorkers: settings.ephemeral || reason === "unauthorized" });
  if (settings.ephemeral) await removeOwnNetwork(runtime, settings, log);
  if (reason !== "unauthorized") return 0;
  await setCredentialAside(settings.state);
  throw await unauthorizedError(settings);
}

/** Pods of clusters reach each other where rules keep others from them; those of other hosts while it has its address. */
function clusterOffer(
  { desktop, allowOpenNetwork, clusterAddress }: RunSettings,
  kind: RuntimeKind,
): Pick<Inventory, "canJoinClusters" | "clusterAddress"> {
  if (kind !== "docker" || process.getuid?.() !== 0 || desktop || allowOpenNetwork) return {};
  const isHere = clusterAddress !== undefined && interfaceOf(clusterAddress) !== null;
  return { canJoinClusters: true, ...(isHere && { clusterAddress }) };
}

/** A network that was named for this agent alone is not needed any longer. */
async function removeOwnNetwork(runtime: Runtime, { network }: RunSettings, log: AgentLog): Promise<void> {
  if (network === undefined || !(runtime instanceof DockerRuntime)) return;
  await runtime.removeNetwork().catch((error: unknown) => {
    log.warn("network_not_removed", { reason: errorMessage(error) });
  });
}

/** Throws a Failure where images are known to escape from their containers on this host. */
function requireIsolation(versions: readonly ComponentVersion[], isOldAllowed: boolean, log: AgentLog): void {
  const escapes = escapesOf(versions);
  for (const escape of escapes) log.warn("runtime_outdated", { ...escape });
  const [worst] = escapes.filter(({ certainty }) => certainty === "certain");
  if (worst === undefined || isOldAllowed) return;
  const { text, fix } = describeEscape(worst);
  throw new Failure(
    `${text}. ${fix} If you trust every image that runs here, allow this runtime with --allow-old-runtime (EDGERUN_ALLOW_OLD_RUNTIME=true).`,
    [],
    EXIT_FATAL,
  );
}

/** The agent works without it; only `edgerun-agent status` does not. */
async function serveStatus(
  settings: RunSettings,
  { hostId }: HostCredential,
  runtime: RuntimeKind,
  agent: Agent,
  log: AgentLog,
): Promise<StatusServer | undefined> {
  const { edge: edgeUrl, name, state } = settings;
  const own = { version: AGENT_VERSION, pid: process.pid, startedAt: Date.now() };
  const facts = { ...own, edgeUrl, hostId, name, runtime };
  try {
    return await StatusServer.start(state, () => ({ ...facts, ...agent.overview() }));
  } catch (error) {
    log.warn("agent_status_silent", { detail: errorMessage(error) });
    return undefined;
  }
}

async function credentialOf(
  settings: RunSettings,
  inventory: Inventory,
  log: AgentLog,
  signal: AbortSignal,
): Promise<HostCredential | undefined> {
  const known = await loadCredential(settings.state);
  if (known) return known;
  const joinToken = settings.joinToken || (await readJoinTokenFile(settings.state));
  if (!joinToken) {
    const message = "This host has not joined an edge yet.";
    const advice = "Create a join token there and pass it as EDGERUN_JOIN_TOKEN.";
    throw new Failure(message, [advice], EXIT_FATAL);
  }
  const { name } = settings;
  const request = { joinToken, name, agentVersion: AGENT_VERSION, inventory };
  try {
    const credential = await joinHost(settings.edge, request, { log, signal });
    await saveCredential(settings.state, credential);
    log.info("host_joined", { hostId: credential.hostId });
    return credential;
  } catch (error) {
    if (signal.aborted) return undefined; // stopped while it waited for the edge
    throw error;
  }
}

/** With a join token, the supervisor of the agent may restart it, and it joins again. */
async function unauthorizedError({ edge, state, joinToken }: RunSettings): Promise<Error> {
  const message = `The edge ${edge} does not accept this host's token any more: the host was removed there, or the edge's data is new. Its workers are removed.`;
  if (joinToken || (await readJoinTokenFile(state)))
    return new Error(`${message} After a restart it joins again.`);
  const advice =
    "To join again, create a join token and pass it to the installation, or to edgerun-agent run as EDGERUN_JOIN_TOKEN.";
  return new Failure(message, [advice], EXIT_FATAL);
}

/** Disk that cached images use counts as free. */
function withFreeable(inventory: Inventory, freeableBytes: number): Inventory {
  return { ...inventory, diskFreeMb: inventory.diskFreeMb + Math.floor(freeableBytes / MEGABYTE) };
}
