/** Pure decisions about the settings of a pod. */
import { ServiceError } from "../../contract/errors.ts";
import type { PodValues } from "../../db/pods.ts";
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

export function invalid(message: string): ServiceError {
  return new ServiceError("invalid_input", message, { issues: [message] });
}
