import { expect, test } from "vitest";
import { gpuName } from "./flash-operations.ts";

test("a GPU that no machine has is not called like one that is there", () => {
  const gpuDisplayName = "RTX A4000";
  expect(gpuName({ gpuDisplayName, isGpuSimulated: false })).toBe(gpuDisplayName);
  expect(gpuName({ gpuDisplayName, isGpuSimulated: true })).toBe("simulated RTX A4000");
  expect(gpuName({ gpuDisplayName: null, isGpuSimulated: false })).toBeUndefined();
});
