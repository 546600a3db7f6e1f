/** Pure decisions about the settings of a pod. */
import { ServiceError } from "../../contract/errors.ts";
import type { PodValues } from "../../db/pods.ts";
import type { RequestContext } from "../context.ts";
import { isImageReference } from "../endpoints/image-reference.ts";
import { requireStorable } from "../input-schemas.ts";

/** Refuses settings of which no container could be started. */
export function requireRunnable(values: PodValues): void {
  const { imageName, gpuTypeIds, gpuCount } = values;
  if (!isImageReference(imageName)) {
    throw invalid(
      `imageName: '${imageName}' is no reference to an image; it must have the form ` +
        "[registry/]repository[:tag][@digest] with a repository in lower case, such as ghcr.io/acme/worker:1.4",
    );
  }
  if (gpuTypeIds.length > 0 && gpuCount === 0) throw invalid("gpuCount: must be at least 1");
  requireStorable(values);
}

/** Refuses times that have passed; null for never. */
export function requireFuture(
  { now }: Pick<RequestContext, "now">,
  times: Partial<Pick<PodValues, "stopAfter" | "terminateAfter">>,
): void {
  for (const field of ["stopAfter", "terminateAfter"] as const) {
    const at = times[field] ?? null;
    if (at !== null && at <= now) throw invalid(`${field}: must be a time in the future`);
  }
}

export function invalid(message: string): ServiceError {
  return new ServiceError("invalid_input", message, { issues: [message] });
}
