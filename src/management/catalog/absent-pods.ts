/** The requested properties of a pod or a cluster. */
import * as z from "zod";
import { findGpuCard } from "../../catalog/gpu-cards.ts";
import {
  environmentSchema,
  optional,
  optionalNonEmpty,
  nameSchema,
  stringSchema,
  wholeNumber,
} from "../input-schemas.ts";
import { instanceIdSchema } from "../nouns/compute.ts";
import { portsSchema } from "../nouns/container.ts";
import { mountPathSchema } from "../nouns/mounts.ts";
import { ServiceError } from "../../contract/errors.ts";

const cardSchema = z.string().refine((id) => findGpuCard(id) !== undefined, {
  error: ({ input }) => `'${String(input)}' is no GPU type; gpuTypes lists them`,
});

const containerFields = {
  name: optionalNonEmpty(nameSchema),
  imageName: optionalNonEmpty(stringSchema),
  templateId: optionalNonEmpty(stringSchema),
  env: optional(environmentSchema),
  ports: optionalNonEmpty(portsSchema),
  containerDiskInGb: optional(wholeNumber(1)),
  volumeMountPath: optionalNonEmpty(mountPathSchema),
};

const hasImage = (input: { imageName?: string | undefined; templateId?: string | undefined }) =>
  input.imageName !== undefined || input.templateId !== undefined;
const IMAGE_MISSING = { path: ["imageName"], error: "required, unless templateId names a template" };

export const gpuPodSchema = z
  .object({
    ...containerFields,
    gpuTypeId: optionalNonEmpty(cardSchema),
    gpuTypeIdList: optional(z.array(cardSchema)),
    instanceIds: optional(z.array(instanceIdSchema)),
    gpuCount: optional(wholeNumber(0)),
    volumeInGb: optional(wholeNumber(0)),
    minVcpuCount: optional(wholeNumber(0)),
    minMemoryInGb: optional(wholeNumber(0)),
  })
  .refine(hasImage, IMAGE_MISSING)
  .refine(
    (input) => [input.gpuTypeId, ...(input.gpuTypeIdList ?? []), ...(input.instanceIds ?? [])].some(Boolean),
    {
      path: ["gpuTypeId"],
      error: "required, unless gpuTypeIdList or instanceIds says what to run on",
    },
  );

export const cpuPodSchema = z
  .object({ ...containerFields, instanceId: optionalNonEmpty(instanceIdSchema) })
  .refine(hasImage, IMAGE_MISSING);

export const clusterSchema = z
  .object({
    ...containerFields,
    clusterName: optionalNonEmpty(nameSchema),
    gpuTypeId: cardSchema,
    podCount: wholeNumber(1),
    gpuCountPerPod: wholeNumber(1),
  })
  .refine(hasImage, IMAGE_MISSING);

/** Clients look for another place or try again later by the first sentence, or by "insufficient capacity". */
export function noCapacity(): ServiceError {
  return new ServiceError(
    "no_capacity",
    "There are no longer any instances available with the requested specifications. Please refresh and try " +
      "again. Insufficient capacity: this installation offers Serverless endpoints and no pods yet.",
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
