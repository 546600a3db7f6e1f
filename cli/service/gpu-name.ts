import * as z from "zod";

/** What is asked of the host of a worker, so that a person can be told of its GPU. */
export const GPU_FIELDS = "gpuDisplayName isGpuSimulated";

export const gpuShape = { gpuDisplayName: z.string().nullable(), isGpuSimulated: z.boolean().nullable() };

type Gpu = z.infer<z.ZodObject<typeof gpuShape>>;

/** The GPU as a person is told of it; undefined for a worker without one. */
export function gpuName({ gpuDisplayName, isGpuSimulated }: Gpu): string | undefined {
  if (gpuDisplayName === null) return undefined;
  return isGpuSimulated === true ? `simulated ${gpuDisplayName}` : gpuDisplayName;
}
