import { expect, test } from "vitest";
import { imageFor, runtimeImages } from "./manifest.ts";

const KINDS: readonly [boolean, boolean][] = [
  [false, false],
  [false, true],
  [true, false],
  [true, true],
];

test("there is an image for each kind of endpoint and each Python version", () => {
  const images = runtimeImages({}, "3.12");
  expect(KINDS.map(([isLoadBalanced, isCpu]) => imageFor(images, isLoadBalanced, isCpu))).toEqual([
    "edgerun/flash:py3.12-latest",
    "edgerun/flash-cpu:py3.12-latest",
    "edgerun/flash-lb:py3.12-latest",
    "edgerun/flash-lb-cpu:py3.12-latest",
  ]);
});

test("FLASH_IMAGE_TAG changes all tags, and each image can be set as a whole", () => {
  const images = runtimeImages(
    {
      FLASH_IMAGE_TAG: "v2",
      FLASH_CPU_IMAGE: "mine/cpu:1",
      FLASH_CPU_LB_IMAGE: "mine/lb:1",
      FLASH_LB_IMAGE: "",
    },
    "3.10",
  );
  expect(images).toEqual({
    gpu: "edgerun/flash:py3.10-v2",
    cpu: "mine/cpu:1",
    loadBalancedGpu: "edgerun/flash-lb:py3.10-v2",
    loadBalancedCpu: "mine/lb:1",
  });
});
