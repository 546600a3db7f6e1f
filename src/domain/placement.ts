/** Which host runs a new worker, or why none can. */
import type { Gpu } from "../contract/agent.ts";
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { QueueReason } from "../contract/job.ts";

export type CandidateHost = {
  readonly hostId: string;
  readonly accountId: string;
  readonly gpus: readonly Gpu[];
  /** Indexes of GPUs that workers have. */
  readonly takenGpus: ReadonlySet<number>;
  readonly workerCount: number;
};

export type Requirement = Pick<EndpointConfig, "accountId" | "gpuTiers" | "excludedGpuModels" | "gpuCount">;

export type Shortage = { readonly reason: QueueReason; readonly detail: string };

export type Placement =
  | { readonly kind: "placed"; readonly hostId: string; readonly gpuIndexes: readonly number[] }
  | { readonly kind: "nowhere"; readonly shortage: Shortage };

/** Takes the first preferred tier that some host has free, and of those hosts the least loaded. */
export function place(requirement: Requirement, hosts: readonly CandidateHost[]): Placement {
  const own = hosts
    .filter((host) => host.accountId === requirement.accountId)
    .toSorted((a, b) => a.workerCount - b.workerCount || a.hostId.localeCompare(b.hostId));
  const [first] = own;
  if (!first)
    return nowhere(
      "no_host",
      "No host of this account is connected. Join one (joinTokenCreate), or start its agent.",
    );
  if (requirement.gpuTiers.length === 0) return { kind: "placed", hostId: first.hostId, gpuIndexes: [] };

  for (const tier of requirement.gpuTiers) {
    for (const host of own) {
      const free = freeGpus(host, tier, requirement.excludedGpuModels);
      if (free.length >= requirement.gpuCount) {
        const gpuIndexes = free.slice(0, requirement.gpuCount).map((gpu) => gpu.index);
        return { kind: "placed", hostId: host.hostId, gpuIndexes };
      }
    }
  }
  return nowhere("no_matching_gpu", describeMismatch(requirement, own));
}

function freeGpus(host: CandidateHost, tier: string, excludedModels: readonly string[]): readonly Gpu[] {
  return host.gpus.filter(
    (gpu) => gpu.tier === tier && !host.takenGpus.has(gpu.index) && !excludedModels.includes(gpu.name),
  );
}

function describeMismatch(requirement: Requirement, hosts: readonly CandidateHost[]): string {
  const tiers = requirement.gpuTiers.join(", ");
  const all = hosts.flatMap((host) => host.gpus);
  const matching = all.filter((gpu) => gpu.tier !== null && requirement.gpuTiers.includes(gpu.tier)).length;
  const hostWord = hosts.length === 1 ? "the connected host" : `the ${hosts.length} connected hosts`;
  if (matching === 0) {
    const offered = [...new Set(all.flatMap((gpu) => gpu.tier ?? []))].join(", ") || "no GPU of a known tier";
    return (
      `The endpoint asks for ${tiers}, and ${hostWord} can give ${offered}. ` +
      "Add a tier that is there to gpuIds, or join a host that has one of these."
    );
  }
  return (
    `The endpoint asks for ${requirement.gpuCount} GPU(s) of ${tiers} on one host; ` +
    `of the ${matching} on ${hostWord}, too few are free. Wait for other workers to leave, or join a host.`
  );
}

function nowhere(reason: QueueReason, detail: string): Placement {
  return { kind: "nowhere", shortage: { reason, detail } };
}
