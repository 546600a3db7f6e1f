/** An account of a history: its clients, and the endpoints and hosts with which it begins. */
import { type KnownSecret, makeSecret, SECRET_ENV } from "./secrets.ts";
import type { World } from "../world/world.ts";
import type { Inventory } from "../../../src/contract/agent/agent.ts";
import type { SimulatedHost } from "../host/host.ts";
import { inventoryOf, unlimitedInventory } from "../host/inventory.ts";
import { type Requirement, requirementFrom, endpointRequirements } from "./capacity.ts";
import type { SimulatedClient } from "./client.ts";
import { ALIKE, type HistoryPlan } from "./plan.ts";
import { makeRequestEndpoint } from "./request-places.ts";

/** What a host has got when it joined. */
export type JoinedHost = {
  readonly hostId: string;
  readonly hostToken: string;
  readonly inventory: Inventory;
};
export type MakeHost = (joined: JoinedHost) => SimulatedHost;

const SMALL_OPERATIONS = 6;

export class Account {
  readonly plan: HistoryPlan;
  /** At least one. */
  readonly clients: readonly SimulatedClient[];
  /** With queues. */
  readonly endpointIds: string[] = [];
  /** With load-balanced workers; null where there is none. */
  requestEndpointId: string | null = null;
  /** To which the variables of its endpoints with queues refer; null where there is none. */
  secret: KnownSecret | null = null;
  readonly hosts: SimulatedHost[] = [];
  /** Hosts that may be cordoned or drained: those may get no workers. */
  readonly closedHostIds = new Set<string>();
  /** Of those, the ones that may be drained: Fleet ends their workers. */
  readonly drainedHostIds = new Set<string>();
  /** When hosts that were drained were taken back, ms of the history. */
  readonly takenBackAt = new Map<string, number>();

  constructor(plan: HistoryPlan, clients: readonly SimulatedClient[]) {
    this.plan = plan;
    this.clients = clients;
  }

  get firstClient(): SimulatedClient {
    const [client] = this.clients;
    if (!client) throw new Error("The account has no client.");
    return client;
  }

  /** Whether it has made the endpoint in the beginning. */
  owns(endpointId: string): boolean {
    return this.allEndpointIds.includes(endpointId);
  }

  get allEndpointIds(): readonly string[] {
    const { endpointIds, requestEndpointId } = this;
    return requestEndpointId === null ? endpointIds : [...endpointIds, requestEndpointId];
  }

  /** What a worker of the endpoint asks for. */
  requirementOf(endpointId: string): Requirement {
    const { plan } = this;
    const ofQueue = endpointRequirements(plan)[this.endpointIds.indexOf(endpointId)];
    return ofQueue ?? requirementFrom(plan, plan.otherGpuIds, 1);
  }

  /** Makes the endpoints and joins the hosts, which do not start yet. */
  async setUp(world: World, makeHost: MakeHost): Promise<void> {
    const { plan, firstClient: client } = this;
    if (plan.hasSecrets) this.secret = await makeSecret(world, client);
    for (const [index, gpuCount] of plan.endpointGpus.entries())
      this.endpointIds.push(
        await makeEndpoint(client, plan, {
          gpuCount,
          gpuIds: plan.endpointGpuIds[index],
          gpuMemoryGb: plan.endpointGpuMemoryGb[index],
        }),
      );
    if (plan.hasRequests) this.requestEndpointId = await makeRequestEndpoint(client, plan);
    for (const [index, gpuCount] of plan.hostGpus.entries()) {
      const kind = plan.hostKinds[index];
      const inventory = kind ? inventoryOf(kind) : unlimitedInventory(gpuCount);
      this.hosts.push(makeHost({ ...(await joinHost(client)), inventory }));
    }
  }
}

/** That of an endpoint; undefined for one that no account has made in the beginning. */
export function accountWith(accounts: readonly Account[], endpointId: string): Account | undefined {
  return accounts.find((account) => account.owns(endpointId));
}

/** Of a second account: it does the same as the first, and less of it. */
export function smallPlan(plan: HistoryPlan): HistoryPlan {
  const operationCount = Math.min(plan.operationCount, SMALL_OPERATIONS);
  const small = { hostGpus: [1], endpointGpus: [1], clientCount: 1, operationCount, hasRemovals: false };
  return { ...plan, ...ALIKE, ...small };
}

/** Makes another account; returns a key of it. */
export async function openAccount(client: SimulatedClient): Promise<string> {
  const { accountCreate } = await client.manage(
    `mutation { accountCreate(input: { name: "other" }) { apiKey } }`,
  );
  return accountCreate?.["apiKey"] ?? "";
}

type EndpointGpus = {
  readonly gpuCount: number;
  readonly gpuIds?: string | undefined;
  readonly gpuMemoryGb?: number | undefined;
};

/** An endpoint with a queue. */
export async function makeEndpoint(
  client: SimulatedClient,
  plan: HistoryPlan,
  { gpuCount, gpuIds = plan.otherGpuIds, gpuMemoryGb = 0 }: EndpointGpus,
): Promise<string> {
  const { workersMax, workersMin, executionTimeoutMs, idleTimeoutS, hasFlashBoot } = plan;
  const template = `template: { name: "t", imageName: "i", containerDiskInGb: ${plan.containerDiskGb}, dockerArgs: "" ${plan.hasSecrets ? SECRET_ENV : ""} }`;
  const { scalerType, scalerValue } = plan;
  const flashBoot = `flashBootType: ${hasFlashBoot ? "FLASHBOOT" : "OFF"}`;
  const scale = `workersMin: ${Math.min(workersMin, workersMax)}, workersMax: ${workersMax}, idleTimeout: ${idleTimeoutS}, scalerType: "${scalerType}", scalerValue: ${scalerValue}`;
  const input = `{ name: "e", ${template}, gpuIds: "${gpuIds}", gpuCount: ${gpuCount}, gpuMemoryGb: ${gpuMemoryGb}, ${scale}, ${flashBoot}, executionTimeoutMs: ${executionTimeoutMs} }`;
  const { saveEndpoint } = await client.manage(`mutation { saveEndpoint(input: ${input}) { id } }`);
  return saveEndpoint?.["id"] ?? "";
}

export async function joinHost(client: SimulatedClient): Promise<Omit<JoinedHost, "inventory">> {
  const { joinTokenCreate } = await client.manage(
    `mutation { joinTokenCreate(input: { name: "host" }) { token } }`,
  );
  const inventory = { gpus: [], cpuCount: 1, memoryMb: 1, diskFreeMb: 1, runtime: "process" };
  const joining = { joinToken: joinTokenCreate?.["token"], name: "host", agentVersion: "0.3.0", inventory };
  const joined = await client.call("POST", "/agent/v1/join", joining);
  const { hostId, hostToken } = (joined?.body ?? {}) as {
    readonly hostId: string;
    readonly hostToken: string;
  };
  return { hostId, hostToken };
}
