import { writeHostPrice } from "../../domain/costs/host-price.ts";
import { ageOfAgent, type AgentAge } from "../../domain/placement/agent-support.ts";
import { changeHost, hostPatchSchema, removeHost, type Host } from "../../management/hosts/hosts.ts";
import {
  createJoinToken,
  joinTokenSchema,
  listOpenJoinTokens,
  revokeJoinToken,
} from "../../management/hosts/join-tokens.ts";
import { onlyIdSchema } from "../../management/input-schemas.ts";
import { withInput, withoutArguments } from "../context.ts";

export const hostSdl = /* GraphQL */ `
  type Mutation {
    "Makes a token with which one host can join; it is shown this once."
    joinTokenCreate(input: JoinTokenCreateInput): JoinToken
    "Takes back a join token that no host has used."
    joinTokenRevoke(input: JoinTokenRevokeInput): Void
    "Cordons or drains a host, or lifts that, and sets its price; what is omitted stays."
    hostUpdate(input: HostUpdateInput): Host
    "Revokes the token of a host for good: its workers are placed elsewhere, and their jobs run again."
    hostRemove(input: HostRemoveInput): Void
  }

  type User {
    "Oldest first; without removed ones."
    hosts: [Host]
    "Join tokens that are neither used nor expired, the oldest first."
    joinTokens: [OpenJoinToken]
  }

  input JoinTokenCreateInput {
    "What the token is for."
    name: String
    "60 to 604800; 3600 by default."
    expiresInSeconds: Int
  }
  type JoinToken {
    token: String
    "By which it can be taken back."
    id: String
    expiresAt: DateTime
    "One line for the machine that shall join; it holds the token."
    installCommand: String
  }
  input JoinTokenRevokeInput {
    id: String
  }
  "A join token without its secret."
  type OpenJoinToken {
    id: String
    name: String
    createdAt: DateTime
    expiresAt: DateTime
  }

  input HostUpdateInput {
    id: String
    "true: the host gets no new workers, and keeps those it has."
    cordoned: Boolean
    "true: the host gets no new workers, and those it has are replaced elsewhere, busy ones after their job."
    drained: Boolean
    "What the host costs its owner; null: nominal prices."
    price: HostPriceInput
  }
  "Either perHour, or perGpuHour, or watts and perKwh; in dollars."
  input HostPriceInput {
    "Of the whole host; its GPUs share it."
    perHour: Float
    "Of each of its GPUs."
    perGpuHour: Float
    "What the host draws."
    watts: Float
    "Of a kilowatt-hour."
    perKwh: Float
  }
  input HostRemoveInput {
    id: String
  }
  type Host {
    id: String
    "As the host called itself when it joined."
    name: String
    "Null until the host has spoken to the fleet. A host that does not say where it is counts as in EU-RO-1."
    dataCenterId: String
    "Whether it has spoken in time."
    isPresent: Boolean
    agentVersion: String
    "Whether the edge has a later agent: on the host, run edgerun-agent upgrade."
    isAgentOutdated: Boolean
    "Whether the agent is too old for this edge: the host gets no work until it is upgraded."
    isAgentRefused: Boolean
    gpus: [HostGpus]
    "Workers that it has, those that are leaving included."
    workers: Int
    cordoned: Boolean
    drained: Boolean
    "As its owner has set it; null: nominal prices."
    price: HostPrice
    createdAt: DateTime
    "The API key whose join token let the host in; null for hosts that joined before this was noted."
    apiKeyId: ID
    "When that key expires, and the host ends with it. Null: never."
    expiresAt: DateTime
    "Null when it is not remembered: it is kept in memory only."
    lastSeenAt: DateTime
    "How much of the host is in use; null until it has reported this."
    telemetry: HostTelemetry
    "Whole models on it, the last used 64; null until it has reported them."
    models: [HostModel]
  }
  type HostModel {
    "As org/name."
    id: String
    commit: String
    sizeBytes: Float
  }
  "In one of its forms; the members of the others are null."
  type HostPrice {
    perHour: Float
    perGpuHour: Float
    watts: Float
    perKwh: Float
  }
  "As the host last reported it; null for what it cannot determine."
  type HostTelemetry {
    at: DateTime
    "Of all cores together."
    cpuPercent: Float
    memoryUsedMb: Float
    memoryTotalMb: Float
    "Of the disk on which the agent keeps its state."
    diskUsedMb: Float
    diskTotalMb: Float
    networkReceivedBytesPerS: Float
    networkSentBytesPerS: Float
    "Without simulated ones."
    gpus: [GpuTelemetry]
  }
  type GpuTelemetry {
    "As nvidia-smi counts."
    index: Int
    "Share of the time in which the GPU worked."
    utilizationPercent: Float
    memoryUsedMb: Float
    memoryTotalMb: Float
    temperatureC: Float
    powerW: Float
  }
  "GPUs of one model on one host."
  type HostGpus {
    "As the driver calls the model."
    name: String
    "Null when GPUs of this kind are not given to workers."
    tier: String
    "Whether the host only simulates them, as that of npm start does: no such card is there."
    isSimulated: Boolean
    total: Int
    "Those that no worker has."
    free: Int
  }
`;

export const hostResolvers = {
  Mutation: {
    joinTokenCreate: withInput(joinTokenSchema, createJoinToken),
    joinTokenRevoke: withInput(onlyIdSchema, (context, { id }) => revokeJoinToken(context, id)),
    hostUpdate: withInput(hostPatchSchema, changeHost),
    hostRemove: withInput(onlyIdSchema, (context, { id }) => removeHost(context, id)),
  },

  User: {
    hosts: withoutArguments(({ loaders }) => loaders.hosts.load()),
    joinTokens: withoutArguments(listOpenJoinTokens),
  },

  Host: {
    id: ({ record }: Host): string => record.id,
    name: ({ record }: Host): string => record.name,
    createdAt: ({ record }: Host): number => record.createdAt,
    apiKeyId: ({ record }: Host): string | null => record.apiKeyId,
    expiresAt: ({ record }: Host): number | null => record.expiresAt,
    dataCenterId: ({ seen }: Host): string | null => (seen?.agentVersion ? seen.dataCenterId : null),
    isPresent: ({ seen }: Host): boolean => seen?.isPresent ?? false,
    agentVersion: ({ seen }: Host): string | null => seen?.agentVersion || null,
    isAgentOutdated: ({ seen }: Host): boolean => agentAge(seen) !== "current",
    isAgentRefused: ({ seen }: Host): boolean => agentAge(seen) === "refused",
    gpus: ({ seen }: Host) => (seen?.gpus ?? []).map(({ model, ...gpus }) => ({ ...gpus, name: model })),
    workers: ({ seen }: Host): number => seen?.workers ?? 0,
    cordoned: ({ seen }: Host): boolean => seen?.isCordoned ?? false,
    drained: ({ seen }: Host): boolean => seen?.isDrained ?? false,
    price: ({ seen }: Host) => writeHostPrice(seen?.price ?? null),
    telemetry: ({ seen }: Host) => seen?.telemetry ?? null,
    models: ({ seen }: Host) => seen?.models ?? null,
    lastSeenAt: ({ seen }: Host): number | null => seen?.lastSeenAt ?? null,
  },
};

/** A host that has not spoken yet has nothing to upgrade. */
function agentAge(seen: Host["seen"]): AgentAge {
  return seen?.agentVersion ? ageOfAgent(seen.agentVersion) : "current";
}
