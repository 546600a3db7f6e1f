/** Pods as their owners see them. */
import type { PodReport } from "../../contract/agent/agent.ts";
import { isDraining } from "../../domain/placement/agent-support.ts";
import { resolveDataCenter } from "../../domain/placement/stock.ts";
import type { FleetStore } from "../fleet-store.ts";
import type { HostPresence } from "../hosts/host-presence.ts";
import type { PodHost, PodView } from "../messages.ts";
import { viewOfWorker } from "../worker-view.ts";
import type { PodPlacer } from "./pod-placer.ts";
import type { PodRecord } from "./pod-store.ts";
import type { PodWorkers } from "./pod-workers.ts";

export type PodUse = Partial<Omit<PodReport, "ports">>;

type HostViewParts = { readonly store: FleetStore; readonly presence: HostPresence };

export function viewOfPod(
  parts: HostViewParts & { readonly podWorkers: PodWorkers; readonly podPlacer: PodPlacer },
  pod: PodRecord,
  { use, now }: { readonly use: PodUse; readonly now: number },
): PodView {
  const { podId, accountId } = pod.config;
  const { version, desired, stopReason, changedAt, ports, clusterAddress } = pod;
  const worker = parts.podWorkers.of(podId);
  const hostId = worker?.hostId ?? pod.volumeHostId;
  const host = hostId === null ? null : viewOfHost(parts, hostId, now);
  const isSeen = host?.isPresent === true && desired === "running";
  return {
    podId,
    accountId,
    version,
    desired,
    stopReason,
    changedAt,
    host,
    worker: worker ? viewOfWorker(parts.store, worker) : null,
    ports,
    clusterAddress,
    cpuPercent: (isSeen ? use.cpuPercent : undefined) ?? null,
    memoryPercent: (isSeen ? use.memoryPercent : undefined) ?? null,
    waiting: parts.podPlacer.waitReason(pod),
  };
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
