/** The runtime images that endpoints without an image of their own run in. */

/** `{python}` stands for a version such as 3.12 in the names of our own. */
export type RuntimeImages = {
  readonly gpu: string;
  readonly cpu: string;
  readonly loadBalancedGpu: string;
  readonly loadBalancedCpu: string;
};

const DEFAULT_TAG = "latest";

/** The images for a Python version; the environment may name others. */
export function runtimeImages(
  environment: Readonly<Record<string, string | undefined>>,
  pythonVersion: string,
): RuntimeImages {
  const tag = `py${pythonVersion}-${environment["FLASH_IMAGE_TAG"] || DEFAULT_TAG}`;
  const image = (variable: string, name: string): string => environment[variable] || `edgerun/${name}:${tag}`;
  return {
    gpu: image("FLASH_GPU_IMAGE", "flash"),
    cpu: image("FLASH_CPU_IMAGE", "flash-cpu"),
    loadBalancedGpu: image("FLASH_LB_IMAGE", "flash-lb"),
    loadBalancedCpu: image("FLASH_CPU_LB_IMAGE", "flash-lb-cpu"),
  };
}

/** The image for an endpoint of this kind. */
export function imageFor(images: RuntimeImages, isLoadBalanced: boolean, isCpu: boolean): string {
  if (isLoadBalanced) return isCpu ? images.loadBalancedCpu : images.loadBalancedGpu;
  return isCpu ? images.cpu : images.gpu;
}
