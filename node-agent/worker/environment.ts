import type { Assignment, Gpu, Inventory, PublishedPort } from "../../src/contract/agent/agent.ts";
import { resolveDataCenter } from "../../src/catalog/data-centers.ts";
import { isLoopbackHost } from "../../src/net/public-host.ts";

/** Where and as whom a worker reaches its agent. */
export type AgentAccess = { readonly address: string; readonly port: number; readonly token: string };

/** The part of an assignment that its variables are made of. */
export type AssignedVariables = Pick<Assignment, "workerId" | "endpointId" | "env">;

/** Below 1 s the SDK's ping process dies; 4 s is what workers are used to. */
const PING_INTERVAL_MS = 4_000;

/**
 * The environment of a worker. Three layers, later ones win: defaults for the SDK's log, and those that spare a worker
 * without a real GPU its built-in checks, the user's own variables, and those by which the worker reaches agent and edge.
 */
export function workerEnvironment(
  assignment: AssignedVariables,
  access: AgentAccess,
  gpus: readonly Gpu[],
): Record<string, string> {
  return {
    ...logDefaults(),
    ...fitnessDefaults(gpus),
    ...assignment.env,
    ...protocolVariables(assignment, access),
    ...relayVariables(assignment, access),
    ...gpuVariables(gpus),
  };
}

/** What the variables of a pod are made of. */
export type PodFacts = {
  readonly inventory: Inventory;
  readonly gpus: readonly Gpu[];
  readonly ports: readonly PublishedPort[];
};

/**
 * The environment of a pod: the user's own variables, and those by which its programs find out what they run on.
 * Names are those that images of this kind of service read. Memory is in GB.
 */
export function podEnvironment(
  assignment: AssignedVariables & Pick<Assignment, "limits" | "networkVolumeIds">,
  access: AgentAccess,
  { inventory, gpus, ports }: PodFacts,
): Record<string, string> {
  const { workerId: podId, limits, networkVolumeIds = [] } = assignment;
  const { cpuCount, memoryMb, dataCenterId, publicAddress } = inventory;
  const [volumeId] = networkVolumeIds;
  const cpus = limits ? Math.max(1, Math.floor(limits.cpuMilli / 1_000)) : cpuCount;
  return {
    ...assignment.env,
    RUNPOD_POD_ID: podId,
    RUNPOD_POD_HOSTNAME: podId,
    RUNPOD_CPU_COUNT: String(cpus),
    RUNPOD_MEM_GB: String(Math.floor((limits?.memoryMb ?? memoryMb) / 1_024)),
    RUNPOD_DC_ID: resolveDataCenter(dataCenterId),
    ...(publicAddress !== undefined && { RUNPOD_PUBLIC_IP: publicAddress }),
    ...Object.fromEntries(ports.map((port) => [`RUNPOD_TCP_PORT_${port.requested}`, String(port.public)])),
    ...(volumeId !== undefined && { RUNPOD_VOLUME_ID: volumeId }),
    ...relayVariables(assignment, access),
    ...gpuVariables(gpus),
  };
}

/** At its own default, DEBUG, the SDK logs some forty lines for one job, its agent's address among them. */
function logDefaults(): Record<string, string> {
  return { RUNPOD_LOG_LEVEL: "INFO" };
}

function fitnessDefaults(gpus: readonly Gpu[]): Record<string, string> {
  if (gpus.some((gpu) => !gpu.isSimulated)) return {};
  return { RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: "true", RUNPOD_SKIP_GPU_CHECK: "true" };
}

function protocolVariables(assignment: AssignedVariables, access: AgentAccess): Record<string, string> {
  const { workerId, endpointId } = assignment;
  const base = `http://${access.address}:${access.port}/${access.token}`;
  return {
    // `$ID` is left to the SDK in the output and stream addresses alone; each address needs its `?`.
    RUNPOD_WEBHOOK_GET_JOB: `${base}/job-take/${workerId}?x=1`,
    RUNPOD_WEBHOOK_POST_OUTPUT: `${base}/job-done/${workerId}/$ID?x=1`,
    RUNPOD_WEBHOOK_POST_STREAM: `${base}/job-stream/${workerId}/$ID?x=1`,
    RUNPOD_WEBHOOK_PING: `${base}/ping/${workerId}?x=1`,
    RUNPOD_PING_INTERVAL: String(PING_INTERVAL_MS),
    RUNPOD_AI_API_KEY: access.token,
    RUNPOD_POD_ID: workerId,
    RUNPOD_POD_HOSTNAME: workerId,
    RUNPOD_ENDPOINT_ID: endpointId,
  };
}

/** From within a container the loopback of this host is out of reach, so the agent passes on what goes there. */
function relayVariables({ env, workerId }: AssignedVariables, access: AgentAccess): Record<string, string> {
  const edge = env["EDGERUN_URL"] ?? "";
  if (!URL.canParse(edge) || !isLoopbackHost(new URL(edge).hostname) || isLoopbackHost(access.address))
    return {};
  return { EDGERUN_URL: `http://${access.address}:${access.port}/${access.token}/edge/${workerId}` };
}

function gpuVariables(gpus: readonly Gpu[]): Record<string, string> {
  const [first] = gpus;
  const count = { RUNPOD_GPU_COUNT: String(gpus.length) };
  return first ? { ...count, RUNPOD_GPU_NAME: first.name } : count;
}
