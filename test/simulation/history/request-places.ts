/** Where clients send their requests. */
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";
import { POD_PORT, type PodUser } from "./pods.ts";

export type RequestTarget = {
  readonly path: string;
  /** Null for a pod. */
  readonly endpointId: string | null;
  /** Null for one of the workers of an endpoint. */
  readonly podId: string | null;
};

export type RequestPlace = {
  /** Typical time between two requests, ms. */
  readonly paceMs: number;
  /** Undefined when there is none at present. */
  readonly choose: () => RequestTarget | undefined;
  /** There will be none. */
  readonly isClosed: () => boolean;
  /** What a client does to who takes the requests; absent for nothing. */
  readonly change?: (client: SimulatedClient) => Promise<void>;
};

const POD_PACE_MS = 1_000;

/** The pods of a client. */
export function placeOfPods(world: World, pods: PodUser): RequestPlace {
  const choose = (): RequestTarget | undefined => {
    const { ids } = pods;
    if (ids.length === 0) return undefined;
    const podId = world.random.pick(ids);
    return { path: `/pods/${podId}/${POD_PORT}/work`, endpointId: null, podId };
  };
  return { paceMs: POD_PACE_MS, choose, isClosed: () => pods.isClosed };
}

/** A load-balanced endpoint. */
export function placeOfWorkers(world: World, plan: HistoryPlan, endpointId: string): RequestPlace {
  const target = { path: `/lb/${endpointId}/work`, endpointId, podId: null };
  const place = { paceMs: plan.paceMs, choose: () => target, isClosed: () => false };
  const change = (client: SimulatedClient): Promise<void> => changeEndpoint(world, client, plan, endpointId);
  return plan.isManaged ? { ...place, change } : place;
}

/** Other workers than before, or fewer. */
async function changeEndpoint(
  { random }: World,
  client: SimulatedClient,
  { containerDiskGb }: HistoryPlan,
  endpointId: string,
): Promise<void> {
  const image = `template: { name: "lb", imageName: "i${random.whole(0, 1e9)}", containerDiskInGb: ${containerDiskGb}, dockerArgs: "" }`;
  const fields = random.chance(0.5) ? image : `workersMax: ${random.whole(1, 3)}`;
  await client.manage(
    `mutation { saveEndpoint(input: { id: "${endpointId}", name: "lb", ${fields} }) { id } }`,
  );
}

/** A load-balanced endpoint beside those with queues. */
export async function makeRequestEndpoint(client: SimulatedClient, plan: HistoryPlan): Promise<string> {
  const { workersMax, idleTimeoutS, hasFlashBoot } = plan;
  const template = `template: { name: "lb", imageName: "i", containerDiskInGb: ${plan.containerDiskGb}, dockerArgs: "" }`;
  const flashBoot = `flashBootType: ${hasFlashBoot ? "FLASHBOOT" : "OFF"}`;
  const scale = `workersMin: 0, workersMax: ${workersMax}, idleTimeout: ${idleTimeoutS}, scalerType: "REQUEST_COUNT", scalerValue: 2`;
  const input = `{ name: "lb", type: "LB", ${template}, gpuIds: "${plan.otherGpuIds}", gpuCount: 1, ${scale}, ${flashBoot} }`;
  const { saveEndpoint } = await client.manage(`mutation { saveEndpoint(input: ${input}) { id } }`);
  return saveEndpoint?.["id"] ?? "";
}
