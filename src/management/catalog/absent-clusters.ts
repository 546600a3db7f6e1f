/** Clusters, which are not offered: what is asked of one is checked before it is refused. */
import * as z from "zod";
import { findGpuCard } from "../../catalog/gpu-cards.ts";
import { ServiceError } from "../../contract/errors.ts";
import { optionalNonEmpty, nameSchema, stringSchema, wholeNumber } from "../input-schemas.ts";
import { noCapacity } from "../pods/pod-errors.ts";

export const clusterSchema = z
  .object({
    clusterName: optionalNonEmpty(nameSchema),
    imageName: optionalNonEmpty(stringSchema),
    templateId: optionalNonEmpty(stringSchema),
    gpuTypeId: z.string().refine((id) => findGpuCard(id) !== undefined, {
      error: ({ input }) => `'${String(input)}' is no GPU type; gpuTypes lists them`,
    }),
    podCount: wholeNumber(1),
    gpuCountPerPod: wholeNumber(1),
  })
  .refine(({ imageName, templateId }) => imageName !== undefined || templateId !== undefined, {
    path: ["imageName"],
    error: "required, unless templateId names a template",
  });

export function noClusters(): ServiceError {
  return noCapacity("this installation offers pods and no clusters yet.");
}

export function clusterNotFound(clusterId: string): ServiceError {
  return new ServiceError("cluster_not_found", `id: cluster '${clusterId}' was not found`);
}
