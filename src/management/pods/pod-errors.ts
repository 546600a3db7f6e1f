/** Errors of pods, in the texts that clients look for. */
import { ServiceError } from "../../contract/errors.ts";
import type { PodHost } from "../../fleet/messages.ts";

/** Clients look for another place or try again later by the first sentence, or by "insufficient capacity". */
const NO_CAPACITY =
  "There are no longer any instances available with the requested specifications. Please refresh and try again. " +
  "Insufficient capacity";

/** `reason`: what is truly in the way. */
export function noCapacity(reason: string): ServiceError {
  return new ServiceError("no_capacity", `${NO_CAPACITY}: ${reason}`);
}

/** A pod whose volume is on a host that cannot run it now. */
export function volumeElsewhere({ name }: PodHost, reason: string): ServiceError {
  return new ServiceError(
    "no_capacity",
    `${NO_CAPACITY}: the volume of the pod is on host '${name}', where it cannot run now: ${reason}`,
  );
}

export function podNotFound(podId: string): ServiceError {
  return new ServiceError("pod_not_found", `podId: pod '${podId}' was not found`);
}

/** Clients compare this text. */
export function podNotFoundToTerminate(): ServiceError {
  return new ServiceError("pod_not_found", "pod not found to terminate");
}
