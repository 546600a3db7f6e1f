/** What a pod or a cluster is asked to be. */
import * as z from "zod";
import { readCpuInstance } from "../../contract/cpu-flavors.ts";
import { findGpuCard } from "../../contract/gpu-catalog.ts";
import { environmentSchema, keepable, keepableText, nameSchema, plainText, wholeNumber } from "../input.ts";
import { mountPathSchema, portsSchema } from "../templates/template-patch.ts";

const cardSchema = z.string().refine((id) => findGpuCard(id) !== undefined, {
  error: ({ input }) => `'${String(input)}' is no GPU type; gpuTypes lists them`,
});
const instanceSchema = z.string().superRefine((id, context) => {
  const reading = readCpuInstance(id);
  if (reading.kind === "refused") context.addIssue(reading.reason);
});

const containerFields = {
  name: keepableText(nameSchema),
  imageName: keepableText(plainText),
  templateId: keepableText(plainText),
  env: keepable(environmentSchema),
  ports: keepableText(portsSchema),
  containerDiskInGb: keepable(wholeNumber(1)),
  volumeMountPath: keepableText(mountPathSchema),
};

const hasImage = (input: { imageName?: string | undefined; templateId?: string | undefined }) =>
  input.imageName !== undefined || input.templateId !== undefined;
const IMAGE_MISSING = { path: ["imageName"], error: "required, unless templateId names a template" };

export const gpuPodSchema = z
  .object({
    ...containerFields,
    gpuTypeId: keepableText(cardSchema),
    gpuTypeIdList: keepable(z.array(cardSchema)),
    instanceIds: keepable(z.array(instanceSchema)),
    gpuCount: keepable(wholeNumber(0)),
    volumeInGb: keepable(wholeNumber(0)),
    minVcpuCount: keepable(wholeNumber(0)),
    minMemoryInGb: keepable(wholeNumber(0)),
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
  .object({ ...containerFields, instanceId: keepableText(instanceSchema) })
  .refine(hasImage, IMAGE_MISSING);

export const clusterSchema = z
  .object({
    ...containerFields,
    clusterName: keepableText(nameSchema),
    gpuTypeId: cardSchema,
    podCount: wholeNumber(1),
    gpuCountPerPod: wholeNumber(1),
  })
  .refine(hasImage, IMAGE_MISSING);
