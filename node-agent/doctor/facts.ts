/** What the doctor looks at. */
import type { HostReply } from "../../src/contract/agent/agent.ts";
import type { ArtifactUsage } from "../artifacts/artifact-usage.ts";
import type { EdgeOutcome } from "../edge/edge-client.ts";
import type { GpuReading } from "../gpu/nvidia-smi.ts";
import type { DockerReading } from "../runtime/docker/docker-facts.ts";
import type { ComponentVersion } from "../runtime/docker/known-escapes.ts";
import type { RuntimeKind } from "../runtime/create-runtime.ts";

export type EdgeFacts = {
  readonly url: string;
  /** Others could read what is sent there, and nobody has allowed that. */
  readonly isUnsafe: boolean;
  /** Addresses behind its name, or why it has none. */
  readonly names: { readonly addresses: readonly string[] } | { readonly error: string };
  /** How far this host's clock is ahead of the edge's; null when the edge was not reached. */
  readonly clockAheadMs: number | null;
  readonly proxy: string | null;
  /** What it says of this host; null when the host has not joined. */
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
  /** Of Docker and of what it runs containers with. */
  readonly versions: readonly ComponentVersion[];
  readonly iptables: "works" | "absent" | { readonly error: string };
  readonly gpus: GpuReading;
  readonly driverVersion: string | null;
  /** Whether the NVIDIA Container Toolkit is installed. */
  readonly hasToolkit: boolean;
  /** Free space where images and containers are, and where the agent keeps its state. */
  readonly diskFreeMb: number;
  readonly memoryMb: number;
  /** Of apps, on this host. */
  readonly artifacts: ArtifactUsage;
  readonly hostId: string | null;
  readonly edge: EdgeFacts | null;
  /** What the running agent says; null when none runs. */
  readonly agent: { readonly workers: number; readonly silentMs: number | null } | null;
};
