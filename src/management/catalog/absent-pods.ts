/** The truth about pods for as long as none are offered: nobody has any, and there is no room for one. */
import { ServiceError } from "../../contract/errors.ts";

/** Clients try again later when they read the first sentence. */
export function noCapacity(): ServiceError {
  return new ServiceError(
    "no_capacity",
    "There are no longer any instances available with the requested specifications. Please refresh and try " +
      "again. This installation offers Serverless endpoints and no pods yet.",
  );
}

export function podNotFound(podId: string): ServiceError {
  return new ServiceError("pod_not_found", `podId: pod '${podId}' was not found`);
}

/** Clients compare this text. */
export function podNotFoundToTerminate(): ServiceError {
  return new ServiceError("pod_not_found", "pod not found to terminate");
}

export function clusterNotFound(clusterId: string): ServiceError {
  return new ServiceError("cluster_not_found", `id: cluster '${clusterId}' was not found`);
}
