/** Pods: `/v1/pods`. There are none yet. */
import { podCreateSchema, type RestPod } from "../../contract/rest/rest-pod.ts";
import { ServiceError } from "../../contract/errors.ts";
import { idOf, readLooseInput, type RestContext } from "./context.ts";

export function getPods(context: RestContext): Response {
  return context.json([] satisfies RestPod[]);
}

export async function postPod(context: RestContext): Promise<Response> {
  await readLooseInput(context, podCreateSchema);
  throw new ServiceError(
    "no_capacity",
    "There are no longer any instances available with the requested specifications. Please refresh and try again.",
  );
}

/** Every operation on one pod. */
export function refusePod(context: RestContext): Response {
  throw new ServiceError("pod_not_found", `podId: pod '${idOf(context, "podId")}' was not found`);
}
