/** The truth about pods for as long as none are offered: nobody has any, and there is no room for one. */
import { OperationError } from "../errors.ts";

/** Clients try again later when they read the first sentence. */
export function noCapacity(): OperationError {
  return new OperationError(
    "NO_CAPACITY",
    "There are no longer any instances available with the requested specifications. Please refresh and try " +
      "again. This installation offers Serverless endpoints and no pods yet.",
  );
}

export function podNotFound(podId: string): OperationError {
  return new OperationError("POD_NOT_FOUND", `podId: pod '${podId}' was not found`);
}

/** Clients compare this text. */
export function podNotFoundToTerminate(): OperationError {
  return new OperationError("POD_NOT_FOUND", "pod not found to terminate");
}

export function clusterNotFound(clusterId: string): OperationError {
  return new OperationError("Cluster not found", `id: cluster '${clusterId}' was not found`);
}
