/** A worker of an endpoint as REST v1 shows it: a pod. */
import { findGpuCard } from "../../catalog/gpu-cards.ts";
import type { RestPod } from "../../contract/rest/rest-pod.ts";
import type { TemplateRecord } from "../../management/endpoints/templates.ts";
import type { WorkerView } from "../../fleet/messages.ts";
import type { RequestContext } from "../../management/context.ts";
import type { EndpointRecord } from "../../management/endpoints/endpoints.ts";
import { readStartCommand } from "../../management/endpoints/start-command.ts";
import { toPod } from "../../management/endpoints/worker-pods.ts";
import { roundPrice } from "../../domain/costs/nominal-prices.ts";
import { cpuSizes } from "../../management/nouns/compute.ts";

type Pod = ReturnType<typeof toPod>;

/** What is not known is left out: typed readers take no null. */
export function toRestWorker(
  context: RequestContext,
  worker: WorkerView,
  endpoint: EndpointRecord,
  template: TemplateRecord,
): RestPod {
  const pod = toPod(context, worker, endpoint, template);
  const { entrypoint, command } = readStartCommand(pod.dockerArgs);
  const [cpuFlavorId] = cpuSizes(endpoint.instanceIds).flavors;
  const { id, name, machineId, templateId, lastStatusChange, costPerHr, gpuCount } = pod;
  const { containerDiskInGb, volumeInGb, volumeMountPath } = pod;
  return {
    ...{ id, name, machineId, templateId, lastStatusChange, costPerHr, gpuCount },
    ...{ containerDiskInGb, volumeInGb, volumeMountPath },
    image: pod.imageName,
    imageName: pod.imageName,
    desiredStatus: pod.desiredStatus === "EXITED" ? "EXITED" : "RUNNING",
    consumerUserId: endpoint.accountId,
    machine: machineOf(pod),
    endpointId: endpoint.id,
    slsVersion: pod.version,
    adjustedCostPerHr: costPerHr,
    ...gpuOf(pod),
    vcpuCount: pod.vcpuCount ?? 0,
    memoryInGb: pod.memoryInGb ?? 0,
    ...(cpuFlavorId !== undefined && { cpuFlavorId }),
    volumeEncrypted: false,
    ...(pod.networkVolumeId !== null && { networkVolumeId: pod.networkVolumeId }),
    ...(pod.containerRegistryAuthId !== null && { containerRegistryAuthId: pod.containerRegistryAuthId }),
    dockerEntrypoint: [...entrypoint],
    dockerStartCmd: [...command],
    env: {},
    ports: pod.ports.split(",").filter((port) => port !== ""),
    portMappings: {},
    publicIp: null,
    interruptible: false,
    locked: false,
    savingsPlans: [],
    ...(pod.lastStartedAt !== null && { lastStartedAt: pod.lastStartedAt }),
  };
}

function machineOf({ machine, dataCenterId, costPerHr }: Pod): RestPod["machine"] {
  const { gpuTypeId, gpuDisplayName, location } = machine;
  return {
    ...(gpuTypeId !== null && { gpuTypeId }),
    ...(gpuDisplayName !== null && { gpuDisplayName }),
    location: location ?? "",
    dataCenterId,
    supportPublicIp: false,
    secureCloud: true,
    costPerHr,
  };
}

/** Every card has one price, whatever it is rented for. */
function gpuOf({ machine, gpuCount, costPerHr }: Pod): Pick<RestPod, "gpu"> {
  const { gpuTypeId } = machine;
  if (gpuTypeId === null) return {};
  const displayName = findGpuCard(gpuTypeId)?.displayName ?? gpuTypeId;
  return {
    gpu: { id: gpuTypeId, count: gpuCount, displayName, ...gpuPriceList(costPerHr, gpuCount) },
  };
}

/** The prices of one of the GPUs of a pod, for every way to rent it. */
export function gpuPriceList(costPerHr: number, gpuCount: number) {
  const price = roundPrice(costPerHr / gpuCount);
  return {
    ...{ securePrice: price, communityPrice: price, secureSpotPrice: price, communitySpotPrice: price },
    ...{ oneWeekPrice: price, oneMonthPrice: price, threeMonthPrice: price, sixMonthPrice: price },
  };
}
