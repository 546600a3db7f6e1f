/** Pods as their owners see them. */
import type { PodReport } from "../../contract/agent/agent.ts";
import type { GpuTelemetry } from "../../contract/agent/telemetry.ts";
import { isDraining } from "../../domain/placement/agent-support.ts";
import { resolveDataCenter } from "../../catalog/data-centers.ts";
import type { FleetStore, WorkerRecord } from "../fleet-store.ts";
import type { HostPresence, TelemetryCache } from "../hosts/host-presence.ts";
import type { GpuUse, PodHost, PodView } from "../messages.ts";
import { viewOfWorker } from "../worker-view.ts";
import type { PodPlacer } from "./pod-placer.ts";
import type { PodRecord } from "./pod-store.ts";
import type { PodWorkers } from "./pod-workers.ts";

export type PodUse = Omit<PodReport, "ports">;

type HostViewParts = { readonly store: FleetStore; readonly presence: HostPresence };
type PodViewParts = HostViewParts & {
  readonly telemetry: TelemetryCache;
  readonly podWorkers: PodWorkers;
  readonly podPlacer: PodPlacer;
};

export function viewOfPod(
  parts: PodViewParts,
  pod: PodRecord,
  { use, now }: { readonly use: PodUse; readonly now: number },
): PodView {
  const { config, version, desired, stopReason, changedAt, ports, clusterAddress } = pod;
  const { podId, accountId } = config;
  const worker = parts.podWorkers.of(podId);
  const hostId = worker?.hostId ?? pod.volumeHostId;
  const host = hostId === null ? null : viewOfHost(parts, hostId, now);
  const isSeen = host?.isPresent === true && desired === "running";
  return {
    podId,
    accountId,
    version,
    config,
    desired,
    stopReason,
    changedAt,
    host,
    worker: worker ? viewOfWorker(parts.store, worker) : null,
    ports,
    clusterAddress,
    ...useOf(parts.telemetry, isSeen ? worker : undefined, use),
    waiting: parts.podPlacer.waitReason(pod),
  };
}

/** Its host measures all of its GPUs, and each is of one worker. Nothing is known while its host is away. */
function useOf(
  telemetry: TelemetryCache,
  worker: WorkerRecord | undefined,
  use: PodUse,
): Pick<PodView, "cpuPercent" | "memoryPercent" | "gpuUse"> {
  if (!worker) return { cpuPercent: null, memoryPercent: null, gpuUse: [] };
  const measured = telemetry.of(worker.hostId)?.gpus ?? [];
  const gpuUse = worker.gpuIndexes.map((index) => gpuUseOf(measured.find((gpu) => gpu.index === index)));
  return { cpuPercent: use.cpuPercent ?? null, memoryPercent: use.memoryPercent ?? null, gpuUse };
}

function gpuUseOf(gpu: GpuTelemetry | undefined): GpuUse {
  const { utilizationPercent = null, memoryUsedMb = null, memoryTotalMb = null } = gpu ?? {};
  const isKnown = memoryUsedMb !== null && memoryTotalMb !== null && memoryTotalMb > 0;
  const memoryPercent = isKnown ? Math.round((1_000 * memoryUsedMb) / memoryTotalMb) / 10 : null;
  return { utilPercent: utilizationPercent, memoryPercent };
}

export function viewOfHost({ store, presence }: HostViewParts, hostId: string, now: number): PodHost | null {
  const host = store.hosts.get(hostId);
  if (!host || host.removedAt !== null) return null;
  const { name, inventory, awaySince } = host;
  return {
    hostId,
    name,
    isPresent: presence.isPresent(hostId, now),
    isDrained: isDraining(host),
    lastSeenAt: presence.heardAt(hostId) ?? awaySince,
    publicAddress: inventory.publicAddress ?? null,
    dataCenterId: resolveDataCenter(inventory.dataCenterId),
  };
}
